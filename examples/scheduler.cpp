// A job that runs by the clock, in three processes that all have the same schedule: each occurrence
// runs in one of them. One process is stopped in between, and no occurrence is lost with it.
#include <pawl/pawl.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <iostream>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

// Which node ran which occurrence, for this program to look at.
class scoreboard {
public:
    void write(const pawl::run& run, const std::string& node) {
        const std::lock_guard lock{mutex_};
        const auto [place, is_new] = nodes_.emplace(number(*run.occurrence), node);
        if (!is_new) twice_ = true;
        std::cout << run.idempotency_key << " on " << node << '\n';
        changed_.notify_all();
    }
    void wait_until_there_are(std::size_t occurrences) {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [&] { return nodes_.size() >= occurrences; });
    }
    // Each second had an occurrence, and each occurrence one node.
    bool is_complete() const {
        const std::lock_guard lock{mutex_};
        const auto seconds = (nodes_.rbegin()->first - nodes_.begin()->first) / 1000 + 1;
        return !twice_ && seconds == static_cast<std::int64_t>(nodes_.size());
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::int64_t, std::string> nodes_;
    bool twice_ = false;
};

void serve(scoreboard& seen, const std::string& node, std::stop_token stop) {
    auto locks = pawl::locks::open("memory:", {.owner = node});
    pawl::scheduler cron{locks, {.node = node}};
    const pawl::job report{
        .name = "reports/each-second",
        .lease = {.ttl = 30s},
        .body = [&](const pawl::run& run) { seen.write(run, node); },
    };
    // In order, and so too what came due while this machine stood still.
    cron.add(report, {.cron = "* * * * * *",
                      .misfire = pawl::misfire::run_once,
                      .overlap = pawl::overlap::queue});
    cron.run(stop);
}

}  // namespace

int main() {
    scoreboard seen;
    const auto start = [&](const std::string& node) {
        return std::jthread{[&seen, node](std::stop_token stop) { serve(seen, node, stop); }};
    };
    auto a = start("node-a"), b = start("node-b"), c = start("node-c");
    seen.wait_until_there_are(2);
    a.request_stop();
    a.join();
    seen.wait_until_there_are(4);
    b = {};
    c = {};
    return seen.is_complete() ? 0 : 1;
}
