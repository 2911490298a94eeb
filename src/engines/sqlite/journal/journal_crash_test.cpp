// Processes that die while they write, and a disk that is full.
#include "engines/rules/journal/audit_chain.hpp"
#include "engines/sqlite/journal/sqlite_journal_fixture.hpp"

#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

namespace pawl::sqlite {
namespace {

using namespace std::chrono_literals;

constexpr const char* writing = "--write";
constexpr const char* filling = "--fill";

struct started_child {
    pid_t process = 0;
    int said = -1;
};

started_child start_child(const std::string& what, const std::string& path) {
    std::vector<std::string> words{"sqlite_journal_test", what, path};
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    started_child child;
    EXPECT_EQ(
        posix_spawn(&child.process, "/proc/self/exe", &actions, nullptr, arguments.data(), environ),
        0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    child.said = ends[0];
    return child;
}

// Runs from their beginning to their end, from eight threads at once, until killed.
int write_for_ever(const std::string& path) {
    test_journal mine{path};
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < 8; ++i)
        threads.emplace_back([&, i] {
            for (std::uint64_t n = 1;; ++n) {
                auto start = fresh_run("job-" + std::to_string(i), n);
                start.occurrence = occurrence{static_cast<std::int64_t>(n)};
                const auto begun = mine.get(mine->begin(start));
                if (begun.outcome != begin_outcome::begun) continue;  // by one that was killed
                const run_ref who{start.id, start.token};
                mine.get(mine->checkpoint(who, std::string(700, 'c')));
                mine.get(mine->append_output(who, 0, std::string(3000, 'o'), 1 << 20));
                audit_draft what;
                what.actor = std::to_string(getpid());
                mine.get(mine->append_audit(what));
                mine.get(mine->finish(who, ended(run_status::completed)));
                std::printf(".");
                std::fflush(stdout);
            }
        });
    return 0;
}

// Goal: a process may be killed at any instant. Method: kill one that writes all the time, at
// random moments; each time the file is whole, no run is half written, and the audit is one chain.
TEST(JournalCrash, AKilledProcessLeavesNoRunHalfWritten) {
    const test_folder where;
    std::minstd_rand rng{std::random_device{}()};
    std::size_t finished = 0;
    for (int round = 0; round < 12; ++round) {
        const auto child = start_child(writing, where / "pawl.db");
        char dot = 0;
        for (auto dots = 1 + rng() % 40; dots > 0; --dots) ASSERT_EQ(read(child.said, &dot, 1), 1);
        kill(child.process, SIGKILL);
        waitpid(child.process, nullptr, 0);
        close(child.said);
        test_journal mine{where / "pawl.db"};
        raw_database other{where / "pawl.db"};
        EXPECT_EQ(other.run("PRAGMA integrity_check"), "ok");
        // What belongs together is there together.
        for (const auto* nothing :
             {"SELECT count(*) FROM pawl_run AS run WHERE NOT EXISTS (SELECT 1 FROM pawl_run_event "
              "AS event WHERE event.place = run.place AND kind = 'begun')",
              "SELECT count(*) FROM pawl_run AS run WHERE (status = 'completed') <> EXISTS (SELECT "
              "1 FROM pawl_run_event AS event WHERE event.place = run.place AND kind = "
              "'completed')",
              "SELECT count(*) FROM pawl_run AS run WHERE output_size <> (SELECT "
              "coalesce(sum(length(bytes)), 0) FROM pawl_run_output AS part WHERE part.place = "
              "run.place)",
              "SELECT count(*) FROM pawl_run WHERE status = 'completed' AND (completed_at IS NULL "
              "OR length(checkpoint) <> 700)",
              "SELECT count(*) - count(DISTINCT job_name || '/' || occurrence) FROM pawl_run"})
            EXPECT_EQ(other.run(nothing), "0") << nothing;
        std::vector<audit_entry> chain;
        for (std::uint64_t before = 0;;) {
            const auto page = mine.get(mine->list_audit(before, 1000));
            chain.insert(chain.end(), page.begin(), page.end());
            if (page.size() < 1000) break;
            before = page.back().sequence;
        }
        std::reverse(chain.begin(), chain.end());
        EXPECT_FALSE(journals::first_broken(chain));
        finished = chain.size();
    }
    EXPECT_GE(finished, 12u);
}

bool write_text(const char* path, const std::string& text) {
    std::ofstream file{path};
    file << text;
    return static_cast<bool>(file.flush());
}

// In a file system of its own, of one mebibyte: writes until it is full, says so, makes room, and
// goes on. Status 77: this machine does not let us.
int fill(const std::string& folder) {
    const auto user = std::to_string(geteuid());
    const auto group = std::to_string(getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || !write_text("/proc/self/setgroups", "deny") ||
        !write_text("/proc/self/uid_map", "0 " + user + " 1") ||
        !write_text("/proc/self/gid_map", "0 " + group + " 1") ||
        mount("none", folder.c_str(), "tmpfs", 0, "size=1m") != 0)
        return 77;
    test_journal mine{folder + "/pawl.db"};
    const auto start = fresh_run("report", 1);
    const run_ref who{start.id, start.token};
    mine.get(mine->begin(start));
    const std::string chunk(64 * 1024, 'x');
    result<bool> answer{true};
    std::uint64_t at = 0;
    for (; answer.has_value() && at < 4 * 1024 * 1024; at += chunk.size())
        answer = mine.ask(mine->append_output(who, at, chunk, 8 * 1024 * 1024));
    if (answer.has_value()) return 1;
    std::printf("%s\n%s\n", std::string{name_of(answer.error().code)}.c_str(),
                answer.error().detail.c_str());
    // What had been written is there, and ends as it should once there is room.
    if (!mine.get(mine->find_run(start.id))) return 2;
    if (mount("none", folder.c_str(), "tmpfs", MS_REMOUNT, "size=8m") != 0) return 3;
    if (!mine.get(mine->finish(who, ended(run_status::failed)))) return 4;
    return 0;
}

TEST(JournalCrash, AFullDiskIsToldInOneLineAndForgotten) {
    const test_folder where;
    const auto child = start_child(filling, where.path().string());
    std::string said;
    char bytes[1024];
    for (ssize_t got = 0; (got = read(child.said, bytes, sizeof bytes)) > 0;)
        said.append(bytes, static_cast<std::size_t>(got));
    close(child.said);
    int status = 0;
    waitpid(child.process, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        GTEST_SKIP() << "this user may not mount the small file system that has to fill up";
    EXPECT_EQ(WEXITSTATUS(status), 0) << said;
    EXPECT_TRUE(said.starts_with("unreachable\n")) << said;
    EXPECT_NE(said.find(where / "pawl.db"), std::string::npos) << said;
    EXPECT_NE(said.find("make room"), std::string::npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2) << said;
}

}  // namespace
}  // namespace pawl::sqlite

int main(int count, char** words) {
    const std::vector<std::string> arguments{words, words + count};
    if (count == 3 && arguments[1] == pawl::sqlite::writing)
        return pawl::sqlite::write_for_ever(arguments[2]);
    if (count == 3 && arguments[1] == pawl::sqlite::filling)
        return pawl::sqlite::fill(arguments[2]);
    testing::InitGoogleTest(&count, words);
    return RUN_ALL_TESTS();
}
