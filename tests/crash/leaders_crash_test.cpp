// Leaders and members that share partitions, each a process, that die or freeze.
#include "test_support/servers/redis_server.hpp"
#include "tests/crash/observation.hpp"
#include "time/pause.hpp"

#include <pawl/pawl.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::crash {
namespace {

using namespace std::chrono_literals;

// A machine whose core is taken for a second keeps what it holds.
constexpr millis ttl{3000};
constexpr millis interval{100};
constexpr std::uint32_t partitions = 8;
// How late a process may be on a machine that is busy with other things.
constexpr millis busy_machine{6000};

struct embedded_engine {
    scratch_folder folder{scratch_folder::storage::memory};
    std::string url() const { return "sqlite:" + folder.file("pawl.db"); }
    // By a process of its own, as processes that are forked later may not use a file that this one
    // has open; each attempt with a key of its own, which it keeps.
    bool can_be_written(int attempt) const {
        const pid_t probe = run_in_process([url = url() + "?timeout=1s", attempt] {
            try {
                auto here = locks::open(url);
                const auto key = "probe/" + std::to_string(attempt);
                const auto won = here.try_acquire(key, {.ttl = ttl});
                if (won) _exit(0);
            } catch (const store_error&) {
            }
            _exit(1);
        });
        const int status = wait_for_process(probe);
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
};

struct redis_engine {
    testing_servers::redis_server server;
    std::string url() const { return "redis://127.0.0.1:" + std::to_string(server.port()); }
    static bool can_be_written(int /*attempt*/) { return true; }
};

// Writes one line after another, `ns token pid`, until told to stop.
void scribble(const std::string& file, fence_token token, const std::stop_token& stop) {
    const int log = open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    while (!stop.stop_requested()) {
        const auto now = lease_clock::now();
        const auto line = std::to_string(now.time_since_epoch().count()) + ' ' +
                          std::to_string(number(token)) + ' ' + std::to_string(getpid()) + '\n';
        if (write(log, line.data(), line.size()) < 0) _exit(1);
        time::pause_until(now + 2ms);
    }
    close(log);
}

// A process that is killed when the test ends.
class process {
public:
    explicit process(const std::function<void()>& body) : pid_{run_in_process(body)} {}
    ~process() {
        if (pid_ < 0) return;
        kill(pid_, SIGKILL);
        wait_for_process(pid_);
    }
    process(process&& other) noexcept : pid_{std::exchange(other.pid_, -1)} {}
    process& operator=(process&& other) noexcept {
        std::swap(pid_, other.pid_);
        return *this;
    }

    pid_t pid() const { return pid_; }
    void freeze() const { kill(pid_, SIGSTOP); }
    void thaw() const { kill(pid_, SIGCONT); }
    void end() { process gone{std::move(*this)}; }

private:
    pid_t pid_;
};

template <class Engine>
class LeaderCrash : public testing::Test {
protected:
    void start_candidate() {
        candidates_.emplace_back([url = engine_.url(), file = log_] {
            auto here = locks::open(url);
            here.lead("leader", {.ttl = ttl}, {},
                      [&](const term& now) { scribble(file, now.token, now.stop); });
        });
    }
    void start_member() {
        members_.emplace_back([url = engine_.url(), file = log_] {
            auto here = locks::open(url);
            const partition_options options{.lease = {.ttl = ttl}, .interval = interval};
            here.run_partitions(
                "reindex", partitions, {},
                [&](const partition& mine) {
                    scribble(file + '-' + std::to_string(mine.index), mine.token, mine.stop);
                },
                options);
        });
    }

    // Stops it, but not in the middle of a write: a file that stays locked is a store that is gone
    // for the others as well, and nobody could replace it.
    void freeze(const process& whom) {
        constexpr int attempts_max = 50;
        for (int i = 0; i < attempts_max; ++i) {
            whom.freeze();
            if (engine_.can_be_written(i)) return;
            whom.thaw();
            // It ends what it was at, or the next stop would find it there again.
            time::pause_until(lease_clock::now() + 50ms);
        }
        FAIL() << "each stop found it in the middle of a write";
    }

    std::optional<entry> last_of(const std::string& file) const {
        const auto all = entries_of(file);
        return all.empty() ? std::nullopt : std::optional{all.back()};
    }
    // Whoever writes under a newer token than this one.
    std::optional<entry> first_after(fence_token token) const {
        for (const entry& one : entries_of(log_))
            if (number(one.token) > number(token)) return one;
        return std::nullopt;
    }
    // The newest term of a writer that is dead or frozen.
    fence_token last_term_of(pid_t writer) const {
        fence_token last{};
        for (const entry& one : entries_of(log_))
            if (one.writer == writer) last = std::max(last, one.token);
        return last;
    }
    process& candidate_of(pid_t pid) {
        return *std::find_if(candidates_.begin(), candidates_.end(),
                             [&](const process& one) { return one.pid() == pid; });
    }
    std::string log_of(std::uint32_t which) const { return log_ + '-' + std::to_string(which); }

    // Who has written in each partition since `when`: how many each.
    std::map<pid_t, std::uint32_t> shares_since(instant when) const {
        std::map<pid_t, std::uint32_t> shares;
        for (std::uint32_t which = 0; which < partitions; ++which) {
            const auto last = last_of(log_of(which));
            if (last && last->when >= when) ++shares[last->writer];
        }
        return shares;
    }
    bool is_shared_fairly_by(std::size_t members) const {
        const auto shares = shares_since(lease_clock::now() - 1s);
        std::uint32_t total = 0;
        for (const auto& [writer, share] : shares) {
            if (share < partitions / members || share > partitions / members + 1) return false;
            total += share;
        }
        return shares.size() == members && total == partitions;
    }

    // Lines of an older token behind one of a newer, by writer. A writer that a busy machine let
    // stand still for half its lease is like one that was frozen: what it writes in the moment in
    // which it goes on is not counted.
    static std::map<pid_t, std::size_t> stale_lines_of(const std::string& file) {
        std::map<pid_t, std::size_t> stale;
        std::map<pid_t, instant> last, woke;
        fence_token newest{};
        for (const entry& one : entries_of(file)) {
            const auto before = last.find(one.writer);
            if (before != last.end() && one.when - before->second > ttl / 2)
                woke[one.writer] = one.when;
            last[one.writer] = one.when;
            const auto awake = woke.find(one.writer);
            const bool just_woke = awake != woke.end() && one.when - awake->second < ttl / 2;
            if (number(one.token) < number(newest) && !just_woke) ++stale[one.writer];
            newest = std::max(newest, one.token);
        }
        return stale;
    }

    scratch_folder folder_{scratch_folder::storage::memory};
    const std::string log_ = folder_.file("log");
    Engine engine_;
    std::vector<process> candidates_, members_;
};

using engines = testing::Types<embedded_engine, redis_engine>;
TYPED_TEST_SUITE(LeaderCrash, engines);

// SIGKILL at several phases of the heartbeat. Nobody is told of it: the next leads when the lease
// has passed, and not before.
TYPED_TEST(LeaderCrash, KilledItIsSucceededWithinItsTtlAndTokensRise) {
    for (int i = 0; i < 3; ++i) this->start_candidate();
    ASSERT_TRUE(eventually([&] { return this->last_of(this->log_).has_value(); }));
    for (int round = 0; round < 4; ++round) {
        time::pause_until(lease_clock::now() + round * 300ms);
        const auto leader = this->last_of(this->log_)->writer;
        const auto killed = lease_clock::now();
        this->candidate_of(leader).end();
        // It may have been elected anew before it died.
        const auto term = this->last_term_of(leader);
        ASSERT_TRUE(eventually([&] { return this->first_after(term).has_value(); }));
        const auto next = *this->first_after(term);
        EXPECT_NE(next.writer, leader);
        EXPECT_LT(next.when, killed + ttl + busy_machine);
        this->start_candidate();
    }
    EXPECT_TRUE(this->stale_lines_of(this->log_).empty());
}

// SIGSTOP past the TTL. What it still writes when it goes on carries an older token, so that a
// fence rejects it; then it has stepped down, and leads again when it is elected again.
TYPED_TEST(LeaderCrash, FrozenItIsSucceededStepsDownAndMayLeadAgain) {
    for (int i = 0; i < 2; ++i) this->start_candidate();
    ASSERT_TRUE(eventually([&] { return this->last_of(this->log_).has_value(); }));
    const auto frozen = this->last_of(this->log_)->writer;
    ASSERT_NO_FATAL_FAILURE(this->freeze(this->candidate_of(frozen)));
    const auto term = this->last_term_of(frozen);
    ASSERT_TRUE(eventually([&] { return this->first_after(term).has_value(); }));
    const auto next = *this->first_after(term);
    EXPECT_NE(next.writer, frozen);
    this->candidate_of(frozen).thaw();
    this->candidate_of(next.writer).end();
    EXPECT_TRUE(eventually([&] {
        const auto last = *this->last_of(this->log_);
        return last.writer == frozen && number(last.token) > number(next.token);
    }));
    for (const auto& [writer, lines] : this->stale_lines_of(this->log_))
        EXPECT_EQ(writer, frozen) << lines;
}

TYPED_TEST(LeaderCrash, WhatAKilledMemberHeldRunsElsewhereWithinItsTtl) {
    for (int i = 0; i < 3; ++i) this->start_member();
    ASSERT_TRUE(eventually([&] { return this->is_shared_fairly_by(3); }));
    for (std::size_t left = 2; left > 0; --left) {
        const auto killed = lease_clock::now();
        this->members_.back().end();
        this->members_.pop_back();
        ASSERT_TRUE(eventually([&] { return this->is_shared_fairly_by(left); }));
        EXPECT_LT(lease_clock::now(), killed + ttl + interval + busy_machine);
    }
    for (std::uint32_t which = 0; which < partitions; ++which)
        EXPECT_TRUE(this->stale_lines_of(this->log_of(which)).empty()) << which;
}

TYPED_TEST(LeaderCrash, AFrozenMemberIsReplacedAndHasItsPartitionsAgainAfterwards) {
    for (int i = 0; i < 2; ++i) this->start_member();
    ASSERT_TRUE(eventually([&] { return this->is_shared_fairly_by(2); }));
    const auto frozen = this->members_.front().pid();
    ASSERT_NO_FATAL_FAILURE(this->freeze(this->members_.front()));
    ASSERT_TRUE(eventually([&] { return this->is_shared_fairly_by(1); }));
    this->members_.front().thaw();
    ASSERT_TRUE(eventually([&] { return this->is_shared_fairly_by(2); }));
    for (std::uint32_t which = 0; which < partitions; ++which)
        for (const auto& [writer, lines] : this->stale_lines_of(this->log_of(which)))
            EXPECT_EQ(writer, frozen) << lines;
}

}  // namespace
}  // namespace pawl::crash
