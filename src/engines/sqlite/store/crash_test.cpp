// Processes that die at any instant, and processes that start at the same one.
#include "engines/sqlite/store/sqlite_store.hpp"

#include "base/identity.hpp"
#include "engines/sqlite/store/sqlite_fixture.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

namespace pawl::sqlite {
namespace {

using namespace std::chrono_literals;

constexpr const char* churning = "--churn";
constexpr const char* opening = "--open";

pid_t start_child(const std::string& what, const std::string& path) {
    std::vector<std::string> words{"sqlite_crash_test", what, path};
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    EXPECT_EQ(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ),
              0);
    return child;
}

// Grants, renewals, releases and fences as fast as they go. The highest token that this process was
// granted stands in `path`-told, which outlives it.
int churn(const std::string& path) {
    const auto told_path = path + "-told";
    const int file = ::open(told_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(std::uint64_t)) != 0) return 1;
    void* page = mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    auto* told = static_cast<std::atomic<std::uint64_t>*>(page);
    net::loop loop;
    const auto store = make_sqlite_store(loop, path, quick_settings()).value();
    for (;;) {
        const claim wanted{"key", base::fresh_id(), "churn", 60s};
        const auto answer = loop.wait_for(store->acquire(wanted)).value();
        const auto token = std::get<grant>(answer).token;
        *told = number(token);
        held_lease lease;
        lease.key = "key";
        lease.token = token;
        lease.ttl = 70s;
        const std::vector<held_lease> leases{lease};
        loop.wait_for(store->renew(leases)).value();
        static_cast<void>(
            loop.wait_for(store->fence("resource", token, fence_rule::reject_older)).value());
        loop.wait_for(store->release("key", token, {})).value();
    }
}

int open_once(const std::string& path) {
    net::loop loop;
    const auto store = make_sqlite_store(loop, path, quick_settings());
    if (store.has_error()) {
        std::fprintf(stderr, "%s\n", store.error().detail.c_str());
        return 1;
    }
    const claim wanted{"key/" + base::fresh_id(), base::fresh_id(), "open", 60s};
    const auto answer = loop.wait_for((*store)->acquire(wanted));
    if (answer.has_error()) std::fprintf(stderr, "%s\n", answer.error().detail.c_str());
    return answer.has_value() ? 0 : 1;
}

std::uint64_t told_by_child(const std::string& path) {
    std::uint64_t told = 0;
    const int file = ::open((path + "-told").c_str(), O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        EXPECT_GE(::read(file, &told, sizeof told), 0);
        ::close(file);
    }
    return told;
}

// Goal: a process may be killed at any instant. Method: kill one that writes all the time, at
// random moments; each time the file is whole, remembers every token it gave, and grants higher
// ones.
TEST(SqliteCrash, AKilledProcessLeavesAWholeStoreThatForgetsNothing) {
    const test_folder folder;
    const auto path = folder / "pawl.db";
    std::minstd_rand rng{std::random_device{}()};
    // On a busy machine a child may need longer than that for its first grant.
    int longer = 1;
    for (int round = 0; round < 30; ++round) {
        const auto child = start_child(churning, path);
        std::this_thread::sleep_for(longer * std::chrono::microseconds{20'000 + rng() % 30'000});
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        const auto told = told_by_child(path);
        net::loop loop;
        const auto store = make_sqlite_store(loop, path, quick_settings()).value();
        const auto seen = loop.wait_for(store->inspect("key")).value();
        if (!seen) {  // killed before its first grant
            longer = std::min(longer * 2, 64);
            continue;
        }
        EXPECT_GE(number(seen->last_token), told);
        const bool held_by_dead = number(seen->holder) != 0;
        EXPECT_EQ(loop.wait_for(store->force_release("key", seen->holder, 0ms)).value(),
                  held_by_dead);
        const claim wanted{"key", base::fresh_id(), "parent", 60s};
        const auto answer = loop.wait_for(store->acquire(wanted)).value();
        ASSERT_TRUE(std::holds_alternative<grant>(answer));
        const auto token = std::get<grant>(answer).token;
        EXPECT_GT(token, seen->last_token);
        EXPECT_TRUE(loop.wait_for(store->release("key", token, {})).value());
        EXPECT_EQ(raw_database{path}.run("PRAGMA integrity_check"), "ok");
    }
    EXPECT_GT(told_by_child(path), 0u);
}

// Goal: the first start of several agents at once makes one store. Method: eight processes open a
// file that is not there.
TEST(SqliteCrash, ProcessesThatMakeTheStoreAtOnceMakeOne) {
    for (int round = 0; round < 5; ++round) {
        const test_folder folder;
        const auto path = folder / "pawl.db";
        std::vector<pid_t> children;
        for (int i = 0; i < 8; ++i) children.push_back(start_child(opening, path));
        for (const auto child : children) {
            int status = 0;
            waitpid(child, &status, 0);
            EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
        EXPECT_EQ(raw_database{path}.run("SELECT count(*) FROM pawl_lease"), "8");
        EXPECT_EQ(raw_database{path}.run("SELECT count(*) FROM pawl_marker"), "1");
    }
}

}  // namespace
}  // namespace pawl::sqlite

int main(int count, char** words) {
    const std::vector<std::string> arguments{words, words + count};
    if (count == 3 && arguments[1] == pawl::sqlite::churning)
        return pawl::sqlite::churn(arguments[2]);
    if (count == 3 && arguments[1] == pawl::sqlite::opening)
        return pawl::sqlite::open_once(arguments[2]);
    testing::InitGoogleTest(&count, words);
    return RUN_ALL_TESTS();
}
