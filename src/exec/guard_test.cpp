// What the guard is for: pawl, or the guard itself, dies or freezes, and the command still ends.
#include "exec/trial.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>

namespace pawl::exec {
namespace {

using namespace std::chrono_literals;
using crash::entries_of;
using crash::eventually;
using crash::run_in_process;
using crash::scratch_folder;
using crash::wait_for_process;

std::set<pid_t> writers_of(const std::string& file) {
    std::set<pid_t> writers;
    for (const auto& one : entries_of(file)) writers.insert(one.writer);
    return writers;
}

bool any_runs(const std::set<pid_t>& pids) {
    return std::any_of(pids.begin(), pids.end(), crash::is_running);
}

instant last_entry(const std::string& file) {
    instant last{};
    for (const auto& one : entries_of(file)) last = std::max(last, one.when);
    return last;
}

// Another process that runs a command as pawl does, in a process group of its own.
pid_t holder_of(command wanted, limits until) {
    const pid_t pid = run_in_process([&] {
        setpgid(0, 0);
        trial house;
        house.run(std::move(wanted), until);
    });
    setpgid(pid, pid);
    return pid;
}

// pawl killed: the command and a daemon that it has left are told to end at once, long before the
// deadline. Both heed SIGTERM.
TEST(Guard, EndsTheWholeTreeWhenPawlIsKilled) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    limits until;
    until.grace = 30s;
    const pid_t holder = holder_of(scribe(log, {"--daemon"}), until);
    ASSERT_TRUE(eventually([&] { return writers_of(log).size() == 2; }));
    kill(holder, SIGKILL);
    wait_for_process(holder);
    const auto writers = writers_of(log);
    EXPECT_TRUE(eventually([&] { return !any_runs(writers); }, 10s));
}

// pawl killed, and the tree ignores SIGTERM: dead when the grace ends.
TEST(Guard, KillsAfterTheGraceWhenPawlIsKilled) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    limits until;
    until.grace = 300ms;
    until.stop_at = until.kill_at = lease_clock::now() + 60s;
    const pid_t holder = holder_of(scribe(log, {"--daemon", "--ignore-term"}), until);
    ASSERT_TRUE(eventually([&] { return writers_of(log).size() == 2; }));
    kill(holder, SIGKILL);
    wait_for_process(holder);
    const instant killed = lease_clock::now();
    const auto writers = writers_of(log);
    ASSERT_TRUE(eventually([&] { return !any_runs(writers); }));
    EXPECT_GT(last_entry(log), killed + 100ms);
    EXPECT_LT(last_entry(log), killed + 300ms + 50ms);
}

// pawl killed shortly before the deadline: the grace is cut short by it.
TEST(Guard, NeverLetsTheGraceOutlastTheDeadline) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    limits until;
    until.grace = 60s;
    until.kill_at = lease_clock::now() + 1s;
    until.stop_at = until.kill_at;
    const pid_t holder = holder_of(scribe(log, {"--daemon", "--ignore-term"}), until);
    ASSERT_TRUE(eventually([&] { return writers_of(log).size() == 2; }));
    kill(holder, SIGKILL);
    wait_for_process(holder);
    const auto writers = writers_of(log);
    ASSERT_TRUE(eventually([&] { return !any_runs(writers); }));
    EXPECT_LE(last_entry(log), until.kill_at + 5ms);
}

// pawl frozen, with its whole process group, as ^Z would do it: nothing is written after the
// deadline that it could not move.
TEST(Guard, KeepsTheDeadlineWhenPawlIsFrozen) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    limits until;
    until.stop_at = lease_clock::now() + 400ms;
    until.kill_at = lease_clock::now() + 600ms;
    const pid_t holder = holder_of(scribe(log, {"--daemon", "--ignore-term"}), until);
    ASSERT_TRUE(eventually([&] { return writers_of(log).size() == 2; }));
    kill(-holder, SIGSTOP);
    const auto writers = writers_of(log);
    ASSERT_TRUE(eventually([&] { return !any_runs(writers); }));
    EXPECT_LE(last_entry(log), until.kill_at + 5ms);
    EXPECT_GE(last_entry(log), until.stop_at);
    kill(-holder, SIGCONT);
    EXPECT_EQ(wait_for_process(holder), 0);
}

// A chain of sessions, each with a living parent, has no group in common: killing level by level
// still reaches the last one.
TEST(Guard, ReachesProcessesDeepInOtherSessions) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    const std::string one = std::string{SCRIBE} + " " + log + " --ignore-term";
    const std::string chain = "trap '' TERM; " + one + " & setsid sh -c '" + one +
                              " & setsid sh -c \"" + one + " & setsid " + one +
                              "; wait\"; wait'; wait";
    limits until;
    until.kill_at = until.stop_at = lease_clock::now() + 1s;
    trial house;
    const exit_status status = house.run(shell(chain), until);
    EXPECT_EQ(status.signal, SIGKILL);
    const auto writers = writers_of(log);
    EXPECT_EQ(writers.size(), 4u);
    EXPECT_FALSE(any_runs(writers));
    EXPECT_LE(last_entry(log), until.kill_at + 50ms);
}

// The guard killed: the launcher inherits the tree and kills it, the daemon too, before pawl is
// told that the guard is gone.
TEST(Guard, ItsOwnDeathEndsTheWholeTree) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    trial house;
    const exit_status status =
        house.run(scribe(log, {"--daemon", "--ignore-term"}), {}, [&](child& running) {
            EXPECT_TRUE(eventually([&] { return writers_of(log).size() == 2; }));
            kill(running.guard_pid(), SIGKILL);
        });
    EXPECT_EQ(status.cause, ending::guard_lost);
    EXPECT_EQ(status.signal, SIGKILL);
    EXPECT_FALSE(any_runs(writers_of(log)));
}

// Guard and launcher killed together, as by `killall -9`: the command's group still dies.
TEST(Guard, ItsDeathWithTheLaunchersEndsTheGroup) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    trial house;
    const std::string one = std::string{SCRIBE} + " " + log + " --ignore-term";
    const exit_status status =
        house.run(shell(one + " & " + one + " & wait"), {}, [&](child& running) {
            EXPECT_TRUE(eventually([&] { return writers_of(log).size() == 2; }));
            kill(house.from().pid(), SIGKILL);
            EXPECT_TRUE(eventually([&] { return !house.from().is_alive(); }));
            kill(running.guard_pid(), SIGKILL);
        });
    EXPECT_EQ(status.cause, ending::guard_lost);
    const auto writers = writers_of(log);
    EXPECT_TRUE(eventually([&] { return !any_runs(writers); }));
}

// The guard frozen: pawl strikes at the deadline itself.
TEST(Guard, FrozenItIsRelievedByPawl) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    trial house;
    limits until;
    until.stop_at = until.kill_at = lease_clock::now() + 400ms;
    const exit_status status =
        house.run(scribe(log, {"--ignore-term"}), until,
                  [&](child& running) { kill(running.guard_pid(), SIGSTOP); });
    EXPECT_EQ(status.signal, SIGKILL);
    EXPECT_LE(last_entry(log), until.kill_at + 50ms);
}

// The launcher killed: what runs goes on under its guard, and the next command says why it cannot.
TEST(Guard, OutlivesTheLauncher) {
    trial house;
    const exit_status status = house.run(shell("sleep 0.2; exit 6"), {}, [&](child&) {
        kill(house.from().pid(), SIGKILL);
        EXPECT_TRUE(eventually([&] { return !house.from().is_alive(); }));
    });
    EXPECT_EQ(status.code, 6);
    const auto fault = house.fault_of(shell("true"));
    ASSERT_TRUE(fault);
    EXPECT_THAT(fault->describe(shell("true")), testing::HasSubstr("process that starts guards"));
}

// Nobody but SIGKILL ends a guard, or the tree would outlive it: send it what terminals, services
// and shells send.
TEST(Guard, IgnoresTheSignalsThatEndOthers) {
    trial house;
    const exit_status status = house.run(shell("sleep 0.2; exit 4"), {}, [](child& running) {
        for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGPIPE, SIGTSTP}) {
            kill(running.guard_pid(), signal);
        }
    });
    EXPECT_EQ(status.code, 4);
}

// A command that closes all its descriptors is still watched: the guard holds no pipe of its own to
// it that would tell of its end.
TEST(Guard, WatchesACommandThatClosesItsStreams) {
    trial house;
    limits until;
    until.stop_at = until.kill_at = lease_clock::now() + 300ms;
    const exit_status status =
        house.run(shell("exec <&- >&- 2>&-; trap '' TERM; while :; do :; done"), until);
    EXPECT_EQ(status.signal, SIGKILL);
    EXPECT_GE(lease_clock::now(), until.kill_at);
}

}  // namespace
}  // namespace pawl::exec
