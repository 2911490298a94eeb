// Processes that want one key take turns, also where the store tells them of no change. How long
// each waits is measured in benchmarks/; here a process that would wait for ever is told from one
// that gets its turn.
#include "test_support/faults/world.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace pawl {
namespace {

using namespace std::chrono_literals;

// Goal: what a process claims beside the keys that it waits for does not end its turns. Method: one
// claims a key again as soon as it has released it, with more others in between than it remembers,
// of which it waits for none; another, which looks at the key now and then, gets it all the same.
TEST(Fairness, ClaimsThatDoNotWaitEndNoTurns) {
    world one;
    one.faults->pushes_nothing = true;
    auto first = one.open(), second = one.open();
    std::atomic<int> turns{0};
    std::jthread busy{[&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            const auto mine = first.acquire("key", {.ttl = 1min}, 1min, stop);
            ++turns;
            for (int i = 0; mine && i < 400; ++i)
                static_cast<void>(first.try_acquire("other/" + std::to_string(i), {.ttl = 1min}));
        }
    }};
    for (int turn = 0; turn < 3; ++turn) {
        const auto before = turns.load();
        while (turns == before) std::this_thread::yield();
        EXPECT_TRUE(second.acquire("key", {.ttl = 1min}, 30s));
    }
}

}  // namespace
}  // namespace pawl
