#include "pawl/demo_node.hpp"

#include "exec/descriptor.hpp"
#include "time/clocks.hpp"

#include <pawl/locks.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <random>

namespace pawl::app {
namespace {

constexpr int writes_of_a_run = 3;
constexpr millis pause_between_writes{100};

// The guarded resource: a file that keeps the newest token in its first 20 bytes, and refuses older
// ones. Check and write are one step, under the file's lock.
class ledger {
public:
    explicit ledger(const std::string& path) : file_{::open(path.c_str(), O_RDWR | O_CLOEXEC)} {
        if (!file_.is_open())
            throw exit_error{status::io_error, "cannot open the demonstration's ledger"};
    }

    // 0 when accepted, else the newest token.
    std::uint64_t write(const std::string& node, std::int64_t firing, fence_token token) {
        while (flock(file_.get(), LOCK_EX) != 0) {
        }
        std::array<char, 20> head{};
        std::uint64_t newest = 0;
        if (pread(file_.get(), head.data(), head.size(), 0) == static_cast<ssize_t>(head.size()))
            std::from_chars(head.data(), head.data() + head.size() - 1, newest);
        const bool accepted = number(token) >= newest;
        if (accepted) {
            char text[128];
            const int size = std::snprintf(text, sizeof text, "%019llu\n",
                                           static_cast<unsigned long long>(number(token)));
            bool good = pwrite(file_.get(), text, static_cast<std::size_t>(size), 0) == size;
            const int length =
                std::snprintf(text, sizeof text, "%lld %llu %s\n", static_cast<long long>(firing),
                              static_cast<unsigned long long>(number(token)), node.c_str());
            good = good && lseek(file_.get(), 0, SEEK_END) >= 0 &&
                   ::write(file_.get(), text, static_cast<std::size_t>(length)) == length;
            if (!good)
                throw exit_error{status::io_error, "cannot write the demonstration's ledger"};
        }
        flock(file_.get(), LOCK_UN);
        return accepted ? 0 : newest;
    }

private:
    exec::descriptor file_;
};

void tell(const char* what, std::int64_t firing, fence_token token, std::uint64_t newest = 0) {
    std::cout << what << ' ' << firing << ' ' << number(token) << ' ' << newest << std::endl;
}

// Waits for a firing to be due, as a scheduler does.
class due_time {
public:
    void wait_until(time::wall_instant when) {
        std::unique_lock lock{mutex_};
        while (time::wall_now() < when) never_.wait_for(lock, when - time::wall_now());
    }

private:
    std::mutex mutex_;
    std::condition_variable never_;
};

// The job does not look whether its lease still stands, as one that is frozen between its look and
// its write could not: that the ledger refuses it is the point.
void do_the_job(const demo_node_options& what, ledger& book, std::int64_t firing,
                fence_token token) {
    due_time pause;
    tell("began", firing, token);
    for (int i = 0; i < writes_of_a_run; ++i) {
        pause.wait_until(time::wall_now() + pause_between_writes);
        const auto newest = book.write(what.name, firing, token);
        if (newest != 0) return tell("refused", firing, token, newest);
        tell("wrote", firing, token);
    }
    tell("ended", firing, token);
}

}  // namespace

status run_demo_node(const demo_node_options& what) {
    auto store = locks::open(what.store, {.owner = what.name});
    ledger book{what.ledger};
    due_time due;
    std::minstd_rand random{std::random_device{}()};
    std::uniform_int_distribution<int> jitter{0, 30};
    for (auto firing = what.first; firing <= what.last; ++firing) {
        due.wait_until(time::wall_instant{std::chrono::seconds{firing}} + millis{jitter(random)});
        lease_options options{
            .ttl = demo_ttl, .firing = occurrence{firing * 1000}, .grace = millis{0}};
        // Firings are taken in their order, so a late one waits for its turn and is not passed
        // over.
        auto tried = store.claim_key(demo_key, options, patience{.wait = demo_ttl * 10});
        if (auto* held = std::get_if<lease>(&tried)) {
            do_the_job(what, book, firing, held->token());
            held->release();
        }
    }
    return status::done;
}

}  // namespace pawl::app
