#include "engines/memory/store/data_set.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace pawl::memory {
namespace {

using namespace std::chrono_literals;

claim claim_of(const std::string& key) {
    static std::atomic<int> count{0};
    return {key, "claim-" + std::to_string(++count), "owner", 1min};
}

bool is_granted(data_set& by, const std::string& key) {
    return std::holds_alternative<grant>(by.acquire(claim_of(key), 1min, 1h));
}

// Goal: the child of a fork() is another process: it waits for no mutex that a thread of its parent
// held, and has a memory of its own. Method: many forks beside threads that are always in a verb.
TEST(DataSet, InTheChildOfAForkItIsAnotherOne) {
    const std::string name = "data-set-test";
    const auto parents = data_set::of(name);
    ASSERT_TRUE(is_granted(*parents, "held"));
    std::atomic<bool> over{false};
    std::vector<std::thread> busy_ones;
    for (int i = 0; i < 2; ++i)
        busy_ones.emplace_back([&] {
            while (!over) {
                const auto same = data_set::of(name);
                const auto none = same->list("", "", 100);
            }
        });
    int failed = 0;
    for (int i = 0; i < 100 && failed == 0; ++i) {
        const auto child = fork();
        if (child == 0) {
            // Whatever hangs is a failure too.
            alarm(30);
            _exit(is_granted(*data_set::of(name), "held") ? 0 : 1);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) ++failed;
    }
    over = true;
    for (auto& one : busy_ones) one.join();
    EXPECT_EQ(failed, 0);
    EXPECT_FALSE(is_granted(*parents, "held"));
}

}  // namespace
}  // namespace pawl::memory
