// Leader election: one snapshot writer over all nodes. The lease lives for 10 s and the leader
// writes every 5 s; when it dies, another writes within 15 s. (Here everything is a hundred times
// as fast.)
//
// What a late leader writes is rejected: every write carries the token of its term.
#include <pawl/pawl.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <latch>
#include <mutex>
#include <stop_token>
#include <thread>

using namespace std::chrono_literals;

namespace {

constexpr auto ttl = 10'000ms / 100;
constexpr auto period = 5'000ms / 100;

// False when it is time to stop.
bool wait_for_the_next(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock{mutex};
    never.wait_for(lock, stop, period, [] { return false; });
    return !stop.stop_requested();
}

struct snapshot_store {
    pawl::fence guard;
    std::atomic<int> written{0};
    std::latch some{4};

    void write(pawl::fence_token token) {
        if (!guard.admit(token)) return;  // another one leads by now
        if (++written <= 4) some.count_down();
    }
};

}  // namespace

int main() {
    snapshot_store snapshots;
    std::stop_source shutdown;
    // Two nodes. In a service this would be its one call of lead(), on a thread of its own.
    const auto node = [&](const char* name) {
        auto locks = pawl::locks::open("memory:");
        return locks.lead(
            "snapshot/writer", {.ttl = ttl}, shutdown.get_token(), [&](const pawl::term& term) {
                std::cout << name << " leads under token " << number(term.token) << '\n';
                // Two snapshots, and then the other one may have a go.
                for (int i = 0; i < 2; ++i) {
                    snapshots.write(term.token);
                    if (!wait_for_the_next(term.stop)) return;
                }
            });
    };
    std::uint64_t terms[2]{};
    {
        std::jthread first{[&] { terms[0] = node("first"); }};
        std::jthread second{[&] { terms[1] = node("second"); }};
        snapshots.some.wait();
        shutdown.request_stop();
    }
    std::cout << snapshots.written << " snapshots in " << terms[0] + terms[1] << " terms\n";
    return snapshots.written >= 4 && terms[0] + terms[1] >= 2 ? 0 : 1;
}
