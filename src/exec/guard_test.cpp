// What the guard is for: pawl, or the guard itself, dies or freezes, and the command still ends.
#include "exec/exec_fixture.hpp"
#include "exec/wire.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <thread>

namespace pawl::exec {
namespace {

using namespace std::chrono_literals;
using crash::entries_of;
using crash::eventually;
using crash::run_in_process;
using crash::scratch_folder;
using crash::wait_for_process;

instant last_entry(const std::string& file) {
    instant last{};
    for (const auto& one : entries_of(file)) last = std::max(last, one.when);
    return last;
}

// Another process that runs a command as pawl does, in a process group of its own.
pid_t holder_of(command wanted, limits until) {
    const pid_t pid = run_in_process([&] {
        setpgid(0, 0);
        trial fixture;
        fixture.run(std::move(wanted), until);
    });
    setpgid(pid, pid);
    return pid;
}

// Once it has one; 0: it has none.
pid_t only_child_of(pid_t parent) {
    const auto number = std::to_string(parent);
    const auto list = "/proc/" + number + "/task/" + number + "/children";
    std::string children;
    eventually([&] { return !(children = crash::text_of(list)).empty(); });
    return children.empty() ? 0 : std::stoi(children);
}

// The launcher first, which would continue the guard.
void stop_watchers(const launcher& from, const child& running) {
    for (const pid_t pid : {from.pid(), running.guard_pid()}) {
        kill(pid, SIGSTOP);
        const auto stat = "/proc/" + std::to_string(pid) + "/stat";
        EXPECT_TRUE(
            eventually([&] { return crash::text_of(stat).find(") T ") != std::string::npos; }));
    }
}

// pawl killed: the command and a daemon that it has left are told to end at once, long before the
// deadline. Both heed SIGTERM.
TEST(Guard, EndsTheWholeTreeWhenPawlIsKilled) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    limits until;
    until.grace = 30s;
    const pid_t holder = holder_of(token_writer(log, {"--daemon"}), until);
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
    until.grace = 4s;
    until.stop_at = until.kill_at = lease_clock::now() + 60s;
    const pid_t holder = holder_of(token_writer(log, {"--daemon", "--ignore-term"}), until);
    ASSERT_TRUE(eventually([&] { return writers_of(log).size() == 2; }));
    const instant killed = lease_clock::now();
    kill(holder, SIGKILL);
    wait_for_process(holder);
    const auto writers = writers_of(log);
    ASSERT_TRUE(eventually([&] { return !any_runs(writers); }));
    EXPECT_GT(last_entry(log), killed + 100ms);
    // A guard hears of it, and so counts the grace, as late as a busy machine lets pawl die.
    EXPECT_LT(last_entry(log), killed + until.grace + 5s);
}

// pawl killed shortly before the deadline: the grace is cut short by it.
TEST(Guard, NeverLetsTheGraceOutlastTheDeadline) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    limits until;
    until.grace = 60s;
    until.kill_at = lease_clock::now() + 8s;
    until.stop_at = until.kill_at;
    const pid_t holder = holder_of(token_writer(log, {"--daemon", "--ignore-term"}), until);
    ASSERT_TRUE(eventually([&] { return writers_of(log).size() == 2; }));
    kill(holder, SIGKILL);
    wait_for_process(holder);
    const auto writers = writers_of(log);
    ASSERT_TRUE(eventually([&] { return !any_runs(writers); }));
    EXPECT_LE(last_entry(log), until.kill_at + kill_lead);
}

// pawl frozen, with its whole process group, as ^Z would do it: nothing is written after the
// deadline that it could not move.
TEST(Guard, KeepsTheDeadlineWhenPawlIsFrozen) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    limits until;
    until.stop_at = lease_clock::now() + 8s;
    until.kill_at = until.stop_at + 2s;
    const pid_t holder = holder_of(token_writer(log, {"--daemon", "--ignore-term"}), until);
    ASSERT_TRUE(eventually([&] { return writers_of(log).size() == 2; }));
    kill(-holder, SIGSTOP);
    const auto writers = writers_of(log);
    ASSERT_TRUE(eventually([&] { return !any_runs(writers); }));
    EXPECT_LE(last_entry(log), until.kill_at + kill_lead);
    EXPECT_GE(last_entry(log), until.stop_at);
    kill(-holder, SIGCONT);
    EXPECT_EQ(wait_for_process(holder), 0);
}

// A chain of sessions, each with a living parent, has no group in common: killing level by level
// still reaches the last one.
TEST(Guard, ReachesProcessesDeepInOtherSessions) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    const std::string one = std::string{TOKEN_WRITER} + " " + log + " --ignore-term";
    const std::string chain = "trap '' TERM; " + one + " & setsid sh -c '" + one +
                              " & setsid sh -c \"" + one + " & setsid " + one +
                              "; wait\"; wait'; wait";
    instant kill_at{};
    trial fixture;
    const exit_status status = fixture.run(shell(chain), killed_after(60s), [&](child& running) {
        EXPECT_TRUE(eventually([&] { return writers_of(log).size() == 4; }));
        kill_at = lease_clock::now() + 1s;
        running.extend(kill_at, kill_at);
    });
    EXPECT_EQ(status.signal, SIGKILL);
    const auto writers = writers_of(log);
    EXPECT_EQ(writers.size(), 4u);
    EXPECT_FALSE(any_runs(writers));
    // Each of the four is a wake-up of the guard, which has no real time of its own without root.
    EXPECT_LE(last_entry(log), kill_at + 5s);
}

// The guard killed: the launcher inherits the tree and kills it, the daemon too, before pawl is
// told that the guard is gone.
TEST(Guard, ItsOwnDeathEndsTheWholeTree) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    trial fixture;
    const exit_status status =
        fixture.run(token_writer(log, {"--daemon", "--ignore-term"}), {}, [&](child& running) {
            EXPECT_TRUE(eventually([&] { return writers_of(log).size() == 2; }));
            kill(running.guard_pid(), SIGKILL);
        });
    EXPECT_EQ(status.cause, ending::guard_lost);
    EXPECT_EQ(status.signal, SIGKILL);
    EXPECT_FALSE(any_runs(writers_of(log)));
}

// Guard and launcher killed together, as by `killall -9`: what they leave, also in a session of its
// own, is dead before pawl is told so and lets go of the lease. In either order.
TEST(Guard, AfterItsDeathAndTheLaunchersAllAreDeadBeforeItIsTold) {
    for (const bool launcher_first : {true, false}) {
        const scratch_folder folder;
        const std::string log = folder.file("log");
        trial fixture;
        const std::string one = std::string{TOKEN_WRITER} + " " + log + " --ignore-term";
        const auto script = "trap '' TERM; " + one + " & setsid " + one + " & setsid sh -c '" +
                            one + " & wait' & wait";
        const exit_status status = fixture.run(shell(script), {}, [&](child& running) {
            EXPECT_TRUE(eventually([&] { return writers_of(log).size() == 3; }));
            const pid_t launcher = fixture.from().pid();
            kill(launcher_first ? launcher : running.guard_pid(), SIGKILL);
            kill(launcher_first ? running.guard_pid() : launcher, SIGKILL);
        });
        EXPECT_EQ(status.cause, ending::guard_lost);
        EXPECT_FALSE(any_runs(writers_of(log))) << launcher_first;
    }
}

// The launcher has no descriptor left to look for orphans with when a guard is killed. That says
// nothing about them: pawl is told once they could be looked for, and are dead.
TEST(Guard, WhatCannotBeListedCountsAsAlive) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    trial fixture;
    std::thread mender;
    const auto script = "setsid " + std::string{TOKEN_WRITER} + " " + log + " --ignore-term & wait";
    std::atomic<bool> mended = false;
    const exit_status status = fixture.run(shell(script), {}, [&](child& running) {
        EXPECT_TRUE(eventually([&] { return writers_of(log).size() == 1; }));
        const pid_t launcher = fixture.from().pid();
        const rlimit none{4, 1024};
        const rlimit enough{1024, 1024};
        EXPECT_EQ(prlimit(launcher, RLIMIT_NOFILE, &none, nullptr), 0);
        kill(running.guard_pid(), SIGKILL);
        mender = std::thread{[&, launcher, enough] {
            // The orphan goes on writing while no process can find it.
            const auto before = entries_of(log).size();
            EXPECT_TRUE(eventually([&] { return entries_of(log).size() > before + 10; }));
            mended = true;
            EXPECT_EQ(prlimit(launcher, RLIMIT_NOFILE, &enough, nullptr), 0);
        }};
    });
    EXPECT_TRUE(mended);
    mender.join();
    EXPECT_EQ(status.cause, ending::guard_lost);
    EXPECT_FALSE(any_runs(writers_of(log)));
}

// The launcher has no descriptor left for another guard: that is said, and nothing may have run.
// When commands have ended there is room again.
TEST(Guard, ALauncherOutOfDescriptorsSaysSoAndRecovers) {
    trial fixture;
    const pid_t launcher = fixture.from().pid();
    std::vector<std::unique_ptr<child>> all;
    for (int turn = 0; turn < 12; ++turn) {
        all.push_back(std::make_unique<child>(fixture.loop().get_executor(), fixture.from()));
        auto spawning = all.back()->spawn(command{{"/bin/sleep", "600"}}, {});
        ASSERT_FALSE(fixture.loop().wait_for(std::move(spawning)));
    }
    const std::filesystem::directory_iterator open{"/proc/" + std::to_string(launcher) + "/fd"};
    const auto count = static_cast<rlim_t>(std::distance(begin(open), end(open)));
    const rlimit none_left{count, count};
    ASSERT_EQ(prlimit(launcher, RLIMIT_NOFILE, &none_left, nullptr), 0);
    for (int turn = 0; turn < 3; ++turn) {
        const auto fault = fixture.fault_of(shell("true"));
        ASSERT_TRUE(fault);
        EXPECT_FALSE(fault->may_have_run());
        EXPECT_THAT(fault->describe(shell("true")), testing::HasSubstr("Too many open files"));
    }
    for (const auto& one : all) {
        one->stop(30s);
        auto ending_of = one->wait();
        EXPECT_EQ(fixture.loop().wait_for(std::move(ending_of)).signal, SIGTERM);
    }
    EXPECT_TRUE(eventually([&] { return fixture.run(shell("exit 3")).code == 3; }));
}

// The command's number is its group's: as long as a guard may strike at the group, it must not
// pass to a stranger. So the command stays unreaped while what it has left lives, and until pawl
// has heard of its end.
TEST(Guard, TheCommandIsReapedLast) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    trial fixture;
    limits until;
    until.grace = 30s;
    // Not before it ignores what the guard will tell it.
    const auto script = std::string{TOKEN_WRITER} + " " + log + " --ignore-term & until [ -s " +
                        log + " ]; do sleep 0.01; done; exit 3";
    std::atomic<bool> kept = false;
    const exit_status status = fixture.run(shell(script), until, [&](child& running) {
        const auto stat = "/proc/" + std::to_string(running.pid()) + "/stat";
        EXPECT_TRUE(eventually([&] {
            return writers_of(log).size() == 1 &&
                   crash::text_of(stat).find(") Z ") != std::string::npos;
        }));
        const auto writers = writers_of(log);
        kept = getpgid(*writers.begin()) == running.pid() && any_runs(writers);
        running.extend(instant::max(), lease_clock::now());
    });
    EXPECT_TRUE(kept);
    EXPECT_EQ(status.code, 3);
    EXPECT_FALSE(any_runs(writers_of(log)));
}

// A command stops its guard and ends: the launcher continues the guard, and the end is told.
TEST(Guard, StoppedByItsCommandItContinues) {
    trial fixture;
    EXPECT_EQ(fixture.run(shell("kill -STOP $PPID; exit 3")).code, 3);
}

// With the launcher stopped as well, the next renewal continues both.
TEST(Guard, StoppedWithTheLauncherItContinuesWithTheNextRenewal) {
    trial fixture;
    const command wanted{{"/bin/sleep", "600"}};
    const exit_status status = fixture.run(wanted, {}, [&](child& running) {
        stop_watchers(fixture.from(), running);
        kill(running.pid(), SIGKILL);
        running.extend(instant::max(), instant::max());
    });
    EXPECT_EQ(status.signal, SIGKILL);
    EXPECT_EQ(status.cause, ending::by_itself);
}

// What stops its guard without end does not keep it from its work: the guard is killed, and with it
// the whole tree.
TEST(Guard, StoppedWithoutEndItIsKilledWithTheTree) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    trial fixture;
    const auto script = "setsid " + std::string{TOKEN_WRITER} + " " + log +
                        " --ignore-term & until [ -s " + log +
                        " ]; do sleep 0.01; done; while :; do kill -STOP $PPID; done";
    const exit_status status = fixture.run(shell(script));
    EXPECT_EQ(status.cause, ending::guard_lost);
    EXPECT_FALSE(any_runs(writers_of(log)));
}

// Guard and launcher frozen: pawl strikes at the deadline itself.
TEST(Guard, FrozenItIsRelievedByPawl) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    trial fixture;
    instant kill_at{};
    const exit_status status =
        fixture.run(token_writer(log, {"--ignore-term"}), killed_after(60s), [&](child& running) {
            EXPECT_TRUE(eventually([&] { return writers_of(log).size() == 1; }));
            kill_at = lease_clock::now() + 1s;
            running.extend(kill_at, kill_at);
            stop_watchers(fixture.from(), running);
        });
    EXPECT_EQ(status.signal, SIGKILL);
    // As late as a busy machine lets this process be.
    EXPECT_LE(last_entry(log), kill_at + 5s);
}

// So it does where the command was told to stop, and nothing else would ever end it.
TEST(Guard, FrozenItIsRelievedByPawlAfterAStop) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    trial fixture;
    const exit_status status =
        fixture.run(token_writer(log, {"--ignore-term"}), {}, [&](child& running) {
            EXPECT_TRUE(eventually([&] { return writers_of(log).size() == 1; }));
            running.stop(2s);
            stop_watchers(fixture.from(), running);
        });
    EXPECT_EQ(status.signal, SIGKILL);
    EXPECT_FALSE(any_runs(writers_of(log)));
}

// The launcher killed: what runs goes on under its guard, and the next command says why it cannot.
TEST(Guard, OutlivesTheLauncher) {
    trial fixture;
    const exit_status status = fixture.run(shell("sleep 0.2; exit 6"), {}, [&](child&) {
        kill(fixture.from().pid(), SIGKILL);
        EXPECT_TRUE(eventually([&] { return !fixture.from().is_alive(); }));
    });
    EXPECT_EQ(status.code, 6);
    // It counts as dead a moment before its socket is closed, and a request in between is
    // unanswered.
    ASSERT_TRUE(eventually([&] { return !crash::is_running(fixture.from().pid()); }));
    const auto fault = fixture.fault_of(shell("true"));
    ASSERT_TRUE(fault);
    EXPECT_THAT(fault->describe(shell("true")), testing::HasSubstr("process that starts guards"));
}

TEST(Guard, TheFolderOfALauncherThatWasKilledGoesWithPawl) {
    std::string folder;
    {
        const trial fixture;
        folder = fixture.from().folder();
        EXPECT_TRUE(std::filesystem::exists(folder));
        kill(fixture.from().pid(), SIGKILL);
    }
    EXPECT_FALSE(std::filesystem::exists(folder));
}

// A launcher that does not take what it is asked is told from one that is gone.
TEST(Guard, ALauncherThatIsFrozenIsNotSaidToBeGone) {
    trial fixture;
    kill(fixture.from().pid(), SIGSTOP);
    const auto [ours, theirs] = socket_pair();
    constexpr int requests_max = 100'000;
    int error = 0;
    for (int asked = 0; error == 0 && asked < requests_max; ++asked)
        error = fixture.from().fork_guard(theirs);
    EXPECT_EQ(error, EBUSY);
    const auto fault = fixture.fault_of(shell("true"));
    ASSERT_TRUE(fault);
    EXPECT_FALSE(fault->may_have_run());
    EXPECT_THAT(fault->describe(shell("true")), testing::HasSubstr("does not answer"));
    kill(fixture.from().pid(), SIGKILL);
    EXPECT_TRUE(eventually([&] { return fixture.from().fork_guard(theirs) == ECHILD; }));
}

// Sends descriptors that no process takes, until the user of this process may send no more.
void use_up_descriptors_in_flight(int socket) {
    constexpr rlim_t few = 64;
    const rlimit limit{few, few};
    setrlimit(RLIMIT_NOFILE, &limit);
    const std::array<int, 1> beside{socket};
    for (rlim_t sent = 0; sent <= 2 * few; ++sent)
        if (send(socket, 'x', beside) != delivery_result::sent) return;
}

// A user may have so many descriptors under way between processes. Where the jobs of that user have
// used that up, it is what is said, and not that a process is gone.
TEST(Guard, DescriptorsThatCannotBeSentAreOneClearFault) {
    const pid_t holder = run_in_process([] {
        constexpr uid_t unprivileged = 65'534;  // root may send any number
        if (geteuid() == 0 && (setgid(unprivileged) != 0 || setuid(unprivileged) != 0)) _exit(2);
        trial fixture;
        const auto [ours, theirs] = socket_pair();
        use_up_descriptors_in_flight(ours.get());
        const auto fault = fixture.fault_of(shell("true"));
        const auto said = fault ? fault->describe(shell("true")) : "";
        if (said.find("Too many references") == std::string::npos) _exit(3);
        if (fault->may_have_run()) _exit(4);
    });
    EXPECT_EQ(wait_for_process(holder), 0);
}

// Nothing but SIGKILL ends a guard, or the tree would outlive it: send it what terminals, services
// and shells send.
TEST(Guard, IgnoresTheSignalsThatEndOthers) {
    trial fixture;
    const exit_status status = fixture.run(shell("sleep 0.2; exit 4"), {}, [](child& running) {
        for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGPIPE, SIGTSTP}) {
            kill(running.guard_pid(), signal);
        }
    });
    EXPECT_EQ(status.code, 4);
}

// What was forked ahead of the command starts it as any other guard, and goes when it is not
// needed.
TEST(Guard, ForkedAheadItRunsTheCommandOrGoes) {
    trial fixture;
    {
        child running{fixture.loop().get_executor(), fixture.from()};
        running.prepare();
        running.prepare();
        const pid_t ahead = only_child_of(fixture.from().pid());
        ASSERT_GT(ahead, 0);
        auto spawning = running.spawn(shell("exit 3"), {});
        ASSERT_FALSE(fixture.loop().wait_for(std::move(spawning)));
        EXPECT_EQ(running.guard_pid(), ahead);
        EXPECT_EQ(fixture.loop().wait_for(running.wait()).code, 3);
        child given_up{fixture.loop().get_executor(), fixture.from()};
        given_up.prepare();
    }
    // ~trial waits until the launcher has ended, which waits for all guards.
}

TEST(Guard, KilledBeforeItHasACommandItIsOneClearFault) {
    trial fixture;
    child running{fixture.loop().get_executor(), fixture.from()};
    running.prepare();
    const pid_t ahead = only_child_of(fixture.from().pid());
    ASSERT_GT(ahead, 0);
    kill(ahead, SIGKILL);
    ASSERT_TRUE(eventually([&] { return !crash::is_running(ahead); }));
    const scratch_folder folder;
    auto spawning = running.spawn(shell("echo ran >" + folder.file("out")), {});
    const auto fault = fixture.loop().wait_for(std::move(spawning));
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->where, stage::guard);
    EXPECT_EQ(crash::text_of(folder.file("out")), "");
}

// A command that closes all its descriptors is still watched: the guard holds no pipe of its own to
// it that would tell of its end.
TEST(Guard, WatchesACommandThatClosesItsStreams) {
    trial fixture;
    limits until;
    until.stop_at = until.kill_at = lease_clock::now() + 1s;
    const exit_status status =
        fixture.run(shell("exec <&- >&- 2>&-; trap '' TERM; while :; do :; done"), until);
    EXPECT_EQ(status.signal, SIGKILL);
    EXPECT_GE(lease_clock::now(), until.kill_at);
}

}  // namespace
}  // namespace pawl::exec
