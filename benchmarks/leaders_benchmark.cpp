// From the end of one leader to the term of the next: after SIGKILL, and after a clean release.
#include "benchmarks/channel.hpp"
#include "benchmarks/folder.hpp"
#include "benchmarks/measure.hpp"
#include "test_support/servers/redis_server.hpp"
#include "time/pause.hpp"

#include <pawl/locks.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>

namespace pawl::benchmarks {
namespace {

enum class news : char { elected, returned };

// What a candidate tells, on a clock that all processes of a machine share.
struct report {
    pid_t who;
    news what;
    instant when;
};

// Processes that are there from the start, as nothing forks once there are threads, and that
// campaign once they are called.
class candidates {
public:
    candidates(int count, const std::string& url, millis ttl, millis serving) {
        for (int i = 0; i < count; ++i) {
            const pid_t pid = fork();
            if (pid == 0) campaign(url, ttl, serving);
            all_.push_back(pid);
        }
    }
    ~candidates() {
        for (const pid_t pid : all_) end(pid);
    }
    candidates(const candidates&) = delete;
    candidates& operator=(const candidates&) = delete;

    void call_one() const { calls_.send('c'); }
    report next(news what) const {
        for (;;)
            if (const auto heard = told_.receive<report>(); heard.what == what) return heard;
    }
    void end(pid_t who) const {
        kill(who, SIGKILL);
        waitpid(who, nullptr, 0);
    }

private:
    [[noreturn]] void campaign(const std::string& url, millis ttl, millis serving) const {
        calls_.receive<char>();
        auto here = locks::open(url);
        here.lead("leader", {.ttl = ttl}, {}, [&](const term& now) {
            told_.send(report{getpid(), news::elected, lease_clock::now()});
            std::mutex mutex;
            std::condition_variable_any never;
            std::unique_lock lock{mutex};
            never.wait_for(lock, now.stop, serving, [] { return false; });
            told_.send(report{getpid(), news::returned, lease_clock::now()});
        });
        _exit(0);
    }

    channel calls_, told_;
    std::vector<pid_t> all_;
};

double millis_between(instant from, instant to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
}

std::string text_of(double millis) {
    char text[32];
    std::snprintf(text, sizeof text, millis < 100 ? "%.1f ms" : "%.0f ms", millis);
    return text;
}

// One leads and one waits. Beside what was left of the leader's lease when it was killed, as the
// store showed it.
void after_a_kill(const std::string& where, const std::string& url, millis ttl) {
    constexpr int rounds = 8;
    constexpr double late_at_most = 150;
    const candidates all{rounds + 1, url, ttl, std::chrono::hours{1}};
    auto store = locks::open(url);
    std::vector<double> left, took, late;
    all.call_one();
    auto leader = all.next(news::elected);
    for (int round = 0; round < rounds; ++round) {
        all.call_one();
        // The waiter comes, and the leader's heartbeat has some phase or other.
        time::pause_until(lease_clock::now() + ttl / 2 + ttl * round / rounds);
        const auto seen = store.inspect("leader");
        const auto killed = lease_clock::now();
        all.end(leader.who);
        leader = all.next(news::elected);
        left.push_back(static_cast<double>(seen->remaining.count()));
        took.push_back(millis_between(killed, leader.when));
        late.push_back(took.back() - left.back());
    }
    const double worst = *std::max_element(late.begin(), late.end());
    const double usual_left = median(left), usual_took = median(took);
    print_row(
        "leader on " + where + " killed, ttl " + std::to_string(ttl.count() / 1000) +
            " s, to the next term; bare: what was left of its lease",
        text_of(usual_left),
        text_of(usual_took) + ", late by " + text_of(median(late)) + ", at most " + text_of(worst),
        usual_took / usual_left, "late by ≤ 150 ms", worst <= late_at_most);
}

// They take turns, as each rests for a shorter while than the other serves.
void after_a_release(const std::string& where, const std::string& url, double goal) {
    constexpr int rounds = 40;
    const candidates both{2, url, millis{300}, millis{150}};
    both.call_one();
    both.call_one();
    both.next(news::elected);
    std::vector<double> took;
    for (int round = 0; round < rounds; ++round) {
        const auto returned = both.next(news::returned);
        const auto elected = both.next(news::elected);
        if (elected.who != returned.who)
            took.push_back(millis_between(returned.when, elected.when));
    }
    auto store = locks::open(url);
    std::vector<double> pairs;
    for (int i = 0; i < 200; ++i)
        pairs.push_back(
            micros_of([&] { store.try_acquire("alone", {.ttl = millis{300}}).value().release(); }) /
            1000);
    const double bare = median(std::move(pairs));
    const double usual = median(took), worst = *std::max_element(took.begin(), took.end());
    print_row("leader on " + where +
                  " returns, to the next term in another process; bare: an acquire + release",
              text_of(bare), text_of(usual) + ", at most " + text_of(worst), usual / bare,
              "≤ " + text_of(goal), usual <= goal);
}

void measure_on(const std::string& where, const std::string& url, double goal) {
    after_a_release(where, url, goal);
    after_a_kill(where, url, millis{2000});
    after_a_kill(where, url, millis{5000});
}

void benchmark_leaders() {
    {
        testing_servers::redis_server server;
        measure_on("Redis", "redis://127.0.0.1:" + std::to_string(server.port()), 5);
    }
    const folder files;
    measure_on("SQLite", "sqlite:" + files.file("leaders.db"), 5);
}

const benchmark registered{95, "leaders", benchmark_leaders};

}  // namespace
}  // namespace pawl::benchmarks
