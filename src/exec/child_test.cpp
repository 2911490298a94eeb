#include "exec/child.hpp"

#include "exec/account.hpp"
#include "exec/exec_fixture.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

namespace pawl::exec {
namespace {

using namespace std::chrono_literals;
using namespace crash;
using testing::HasSubstr;

// Generous: the machine that runs the tests may have one slow core. What must hold exactly, such as
// "not later than kill_at", is judged by what commands wrote and not by when we looked.
constexpr millis slack = 10s;

// Runs a script whose stdout is a file, and returns what it wrote.
std::string output_of(trial& fixture, command wanted) {
    const scratch_folder folder;
    const int file = open(folder.file("out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    wanted.streams = {0, file, file};
    fixture.run(std::move(wanted));
    close(file);
    return text_of(folder.file("out"));
}

// The wrapper is transparent: whatever status the command ends with is the one reported.
TEST(Child, EndsWithTheCommandsOwnStatus) {
    trial fixture;
    for (const int code : {0, 1, 3, 75, 255}) {
        const exit_status status = fixture.run(shell("exit " + std::to_string(code)));
        EXPECT_EQ(status.code, code);
        EXPECT_EQ(status.signal, 0);
        EXPECT_EQ(status.cause, ending::by_itself);
    }
}

// A command killed by a signal is told from one that ended with 128+N.
TEST(Child, ReportsTheSignalThatKilledTheCommand) {
    trial fixture;
    const exit_status status = fixture.run(shell("kill -USR1 $$"));
    EXPECT_EQ(status.signal, SIGUSR1);
    EXPECT_EQ(status.as_shell(), 128 + SIGUSR1);
}

// A command that cannot run is told apart by where it failed: try one of each kind.
TEST(Child, SaysWhyACommandCannotRun) {
    const scratch_folder folder;
    trial fixture;
    const auto absent = fixture.fault_of(command{{"frobnicate-nowhere"}});
    ASSERT_TRUE(absent);
    EXPECT_EQ(absent->as_shell(), 127);

    const auto plain_file = fixture.fault_of(command{{"/etc/passwd"}});
    ASSERT_TRUE(plain_file);
    EXPECT_EQ(plain_file->as_shell(), 126);
    EXPECT_EQ(plain_file->error, EACCES);

    command astray = shell("true");
    astray.working_directory = folder.file("missing");
    const auto directory = fixture.fault_of(astray);
    ASSERT_TRUE(directory);
    EXPECT_EQ(directory->where, stage::working_directory);

    const std::string script = folder.file("script");
    const int file = open(script.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    ASSERT_EQ(write(file, "#!/nowhere/sh\n", 14), 14);
    close(file);
    const auto interpreter = fixture.fault_of(command{{script}});
    ASSERT_TRUE(interpreter);
    EXPECT_THAT(interpreter->describe(command{{script}}), HasSubstr("interpreter does not exist"));
}

// A command that is too late before it began must not begin: its lease may be another process's.
TEST(Child, StartsNothingAfterTheDeadline) {
    const scratch_folder folder;
    trial fixture;
    const auto fault = fixture.fault_of(shell("touch " + folder.file("ran")), killed_after(0ms));
    ASSERT_TRUE(fault);
    EXPECT_TRUE(fault->came_too_late());
    EXPECT_FALSE(fault->was_cut_short());
    EXPECT_FALSE(std::filesystem::exists(folder.file("ran")));
}

// The command sees the variables, the directory and the PATH that were asked for.
TEST(Child, GivesTheCommandItsEnvironmentAndDirectory) {
    trial fixture;
    command wanted{{"sh", "-c", "echo \"$PAWL_KEY in $PWD\""}};
    wanted.environment = {"PAWL_KEY=nightly", "PATH=/usr/bin:/bin"};
    wanted.working_directory = "/usr";
    EXPECT_EQ(output_of(fixture, wanted), "nightly in /usr\n");
}

// No descriptor of pawl's, nor of its caller, leaks: list them from inside.
TEST(Child, GivesTheCommandItsThreeStreamsAndNoOtherDescriptor) {
    const int leaking = open("/dev/null", O_RDONLY);
    trial fixture;
    const int leaking_later = open("/dev/null", O_RDONLY);
    // 3 is the folder that ls itself reads.
    EXPECT_EQ(output_of(fixture, command{{"/bin/ls", "/proc/self/fd"}}), "0\n1\n2\n3\n");
    close(leaking);
    close(leaking_later);
}

// The guard changes its own signals and priorities, and the command must not inherit the change:
// compare the command's view with ours.
TEST(Child, LeavesSignalsAndPrioritiesAsTheyWere) {
    signal(SIGHUP, SIG_IGN);  // as nohup does
    setpriority(PRIO_PROCESS, 0, 3);
    trial fixture;
    const std::string status = output_of(fixture, command{{"/bin/cat", "/proc/self/status"}});
    EXPECT_THAT(status, HasSubstr("SigBlk:\t0000000000000000\n"));
    EXPECT_THAT(status, HasSubstr("SigIgn:\t0000000000000001\n"));
    EXPECT_EQ(output_of(fixture, command{{"/bin/cat", "/proc/self/oom_score_adj"}}),
              text_of("/proc/self/oom_score_adj"));
    EXPECT_EQ(output_of(fixture, command{{"/usr/bin/nice"}}), "3\n");
    EXPECT_THAT(output_of(fixture, command{{"/bin/cat", "/proc/self/sched"}}),
                testing::ContainsRegex("policy +: +0\n"));
    signal(SIGHUP, SIG_DFL);
}

// Root can run a command as another user; anybody can run it as themselves.
TEST(Child, RunsTheCommandAsTheUserAskedFor) {
    trial fixture;
    command wanted{{"/usr/bin/id", "-u"}};
    identity runner{getuid(), getgid(), {}};
    if (geteuid() == 0) runner = find_account("nobody", "")->who;
    wanted.user = runner;
    EXPECT_EQ(output_of(fixture, wanted), std::to_string(runner.user) + "\n");
}

// Limits, umask and nice value hold inside: ask the shell and the kernel from there.
TEST(Child, GivesTheCommandItsLimitsMaskAndPriority) {
    trial fixture;
    command wanted = shell("ulimit -Sn; ulimit -Hn; ulimit -c; umask; nice");
    wanted.resource_limits = {{RLIMIT_NOFILE, 33, 44}, {RLIMIT_CORE, 0, 0}};
    wanted.file_mask = 027;
    wanted.nice = 7;
    EXPECT_EQ(output_of(fixture, wanted), "33\n44\n0\n0027\n7\n");
}

// The launcher, which needs a descriptor for each command, raises its own limit; the command has
// the one with which we were started.
TEST(Child, LeavesTheDescriptorLimitAsItWas) {
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit few{200, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    trial fixture;
    rlimit of_launcher{};
    EXPECT_TRUE(eventually([&] {
        prlimit(fixture.from().pid(), RLIMIT_NOFILE, nullptr, &of_launcher);
        return of_launcher.rlim_cur == std::min<rlim_t>(before.rlim_max, 65'536);
    }));
    EXPECT_EQ(output_of(fixture, shell("ulimit -Sn")), "200\n");
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

// What cannot be given ends the command before it begins, with a reason of its own.
TEST(Child, LimitsThatCannotBeSetAreAFaultOfTheirOwn) {
    trial fixture;
    command wanted = shell("true");
    wanted.resource_limits = {{RLIMIT_NOFILE, 44, 33}};
    const auto fault = fixture.fault_of(wanted);
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->where, stage::resource_limits);
    EXPECT_EQ(fault->error, EINVAL);
    EXPECT_EQ(fault->as_shell(), 126);
}

// More variables than the kernel takes is one clear line, whichever notices: the kernel above its
// limit, the guard above what it reads.
TEST(Child, TooLongACommandIsOneClearLine) {
    trial fixture;
    for (const std::size_t bytes : {std::size_t{100}, std::size_t{2000}}) {
        command wanted = shell("true");
        for (int at = 0; at < 100'000; ++at) {
            const std::string name = "V" + std::to_string(at) + "=";
            wanted.environment.push_back(name + std::string(bytes, 'x'));
        }
        const auto fault = fixture.fault_of(wanted);
        ASSERT_TRUE(fault);
        EXPECT_EQ(fault->describe(wanted),
                  "cannot run '/bin/sh': its arguments and environment are longer than the system "
                  "allows");
    }
}

// SIGTERM comes at stop_at, and a command that heeds it decides its own status.
TEST(Child, TermComesAtStopAt) {
    const scratch_folder folder;
    const auto ready = folder.file("ready");
    trial fixture;
    limits until;
    until.stop_at = lease_clock::now() + 60s;
    until.kill_at = until.stop_at + 30s;
    const exit_status status =
        fixture.run(shell("trap 'exit 42' TERM; echo >" + ready + "; while :; do sleep 0.01; done"),
                    until, [&](child& running) {
                        EXPECT_TRUE(eventually([&] { return !crash::text_of(ready).empty(); }));
                        until.stop_at = lease_clock::now() + 300ms;
                        running.extend(until.stop_at, until.kill_at);
                    });
    EXPECT_GE(lease_clock::now(), until.stop_at);
    EXPECT_EQ(status.code, 42);
    EXPECT_EQ(status.cause, ending::deadline);
}

// A command that ignores SIGTERM writes nothing after kill_at.
TEST(Child, KillComesAtKillAtForWhoIgnoresTerm) {
    const scratch_folder folder;
    trial fixture;
    limits until;
    until.stop_at = lease_clock::now() + 60s;
    until.kill_at = until.stop_at + 30s;
    const exit_status status = fixture.run(
        token_writer(folder.file("log"), {"--ignore-term"}), until, [&](child& running) {
            EXPECT_TRUE(eventually([&] { return !entries_of(folder.file("log")).empty(); }));
            until.stop_at = lease_clock::now() + 1s;
            until.kill_at = until.stop_at + 2s;
            running.extend(until.stop_at, until.kill_at);
        });
    EXPECT_EQ(status.signal, SIGKILL);
    const auto entries = entries_of(folder.file("log"));
    ASSERT_FALSE(entries.empty());
    EXPECT_LE(entries.back().when, until.kill_at + kill_lead);
    EXPECT_GE(entries.back().when, until.stop_at);
    EXPECT_LT(lease_clock::now(), until.kill_at + slack);
}

// A lease that recovers after stop_at moves kill_at on and on: the command has its grace all the
// same, and no more.
TEST(Child, WhoIgnoresTermIsKilledAfterTheGraceThoughTheLeaseIsRenewed) {
    const scratch_folder folder;
    const auto ready = folder.file("ready");
    const auto told = folder.file("told");
    trial fixture;
    limits until;
    until.grace = 300ms;
    const auto script =
        "trap ': >" + told + "' TERM; : >" + ready + "; while :; do sleep 0.01; done";
    const exit_status status = fixture.run(shell(script), until, [&](child& running) {
        const auto exists = [](const std::string& file) {
            return eventually([&] { return std::filesystem::exists(file); }, 60s);
        };
        EXPECT_TRUE(exists(ready));
        const instant now = lease_clock::now();
        running.extend(now - 1ms, now + 600s);
        EXPECT_TRUE(exists(told));
        running.extend(now + 900s, now + 910s);
    });
    EXPECT_EQ(status.signal, SIGKILL);
    EXPECT_EQ(status.cause, ending::deadline);
}

// A renewal moves the deadline: extend it past the first one, many times, and the command goes on.
TEST(Child, ExtendMovesTheDeadlineAndManyDoNotBlock) {
    trial fixture;
    const instant began = lease_clock::now();
    const exit_status status =
        fixture.run(shell("sleep 8.5; exit 9"), killed_after(8s), [](child& running) {
            for (int turn = 0; turn < 20'000; ++turn) {
                const instant later = lease_clock::now() + 30s + millis{turn};
                running.extend(later, later);
            }
        });
    EXPECT_EQ(status.code, 9);
    EXPECT_GE(lease_clock::now() - began, 8500ms);
}

// A deadline may come nearer too, as when the lease was lost.
TEST(Child, ExtendMovesTheDeadlineNearer) {
    trial fixture;
    const instant began = lease_clock::now();
    const exit_status status =
        fixture.run(shell("sleep 60"), killed_after(60s), [](child& running) {
            const instant now = lease_clock::now();
            running.extend(now, now);
        });
    EXPECT_EQ(status.cause, ending::deadline);
    EXPECT_LT(lease_clock::now() - began, 30s);
}

// stop() is SIGTERM, and after its own grace SIGKILL.
TEST(Child, StopKillsAfterItsGrace) {
    const scratch_folder folder;
    trial fixture;
    instant asked{};
    const exit_status status =
        fixture.run(token_writer(folder.file("log"), {"--ignore-term"}), {}, [&](child& running) {
            EXPECT_TRUE(eventually([&] { return !entries_of(folder.file("log")).empty(); }));
            asked = lease_clock::now();
            running.stop(200ms);
        });
    EXPECT_EQ(status.signal, SIGKILL);
    EXPECT_EQ(status.cause, ending::asked);
    EXPECT_GE(lease_clock::now() - asked, 200ms);
}

// A lease may be lost while its command is being started: the stop must not be lost as well.
TEST(Child, StopBeforeSpawnEndsTheCommand) {
    trial fixture;
    child running{fixture.loop().get_executor(), fixture.from()};
    running.stop(30s);
    const limits until{};
    auto starting = running.spawn(shell("sleep 60"), until);
    const auto fault = fixture.loop().wait_for(std::move(starting));
    ASSERT_FALSE(fault);
    auto ending_of = running.wait();
    const exit_status status = fixture.loop().wait_for(std::move(ending_of));
    EXPECT_EQ(status.signal, SIGTERM);
    EXPECT_EQ(status.cause, ending::asked);
}

// Signals are passed on to the whole group: a child of the shell hears it as well as the shell.
TEST(Child, PassesSignalsOnToTheGroup) {
    const scratch_folder folder;
    trial fixture;
    const std::string ready = folder.file("ready");
    const std::string heard = folder.file("heard");
    const std::string inner = "trap 'echo inner >> " + heard + "; exit' USR2; echo >> " + ready +
                              "; while :; do sleep 0.01; done";
    const std::string outer =
        "trap 'echo outer >> " + heard + "' USR2; sh -c \"" + inner + "\" & wait; wait; exit 5";
    const exit_status status = fixture.run(shell(outer), {}, [&](child& running) {
        EXPECT_TRUE(eventually([&] { return !text_of(ready).empty(); }));
        running.signal(SIGUSR2);
    });
    EXPECT_EQ(status.code, 5);
    EXPECT_THAT(text_of(heard), HasSubstr("outer"));
    EXPECT_THAT(text_of(heard), HasSubstr("inner"));
}

// A stopped command can still be asked to end: SIGTERM alone would wait for a SIGCONT for ever.
TEST(Child, AStoppedCommandHearsTerm) {
    trial fixture;
    const exit_status status = fixture.run(
        shell("trap 'exit 8' TERM; while :; do sleep 0.01; done"), {}, [](child& running) {
            kill(-running.pid(), SIGSTOP);
            running.stop(30s);
        });
    // Before the trap was set, SIGTERM ends the shell itself.
    EXPECT_TRUE(status.code == 8 || status.signal == SIGTERM);
}

// What the command leaves behind works under the same lease, so it ends before the end is reported.
// Method: a writer in a session of its own and without a parent, which has begun when the command
// ends.
TEST(Child, WhatTheCommandLeavesBehindIsDeadWhenItEnds) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    trial fixture;
    limits until;
    until.grace = 100ms;
    const auto script = "(setsid " + std::string{TOKEN_WRITER} + " " + log +
                        " --ignore-term &); until [ -s " + log + " ]; do sleep 0.01; done";
    const exit_status status = fixture.run(shell(script), until);
    EXPECT_EQ(status.code, 0);
    const instant ended = lease_clock::now();
    const auto entries = entries_of(log);
    ASSERT_FALSE(entries.empty());
    EXPECT_EQ(writers_of(log).size(), 1u);
    EXPECT_FALSE(any_runs(writers_of(log)));
    EXPECT_LE(entries.back().when, ended);
}

std::size_t open_descriptors() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator{"/proc/self/fd"}) {
        ++count;
    }
    return count;
}

// An agent starts commands for months: after 200 of them there are no more descriptors here, and no
// more processes, zombies included, below the launcher.
TEST(Child, TwoHundredCommandsLeaveNothingBehind) {
    trial fixture;
    fixture.run(command{{"/bin/true"}});
    const std::size_t descriptors = open_descriptors();
    for (int turn = 0; turn < 200; ++turn) {
        EXPECT_EQ(fixture.run(command{{"/bin/true"}}).code, 0);
    }
    // The last watchdog ends a moment after its command.
    EXPECT_TRUE(eventually([&] { return open_descriptors() <= descriptors; }));
    const std::string pid = std::to_string(fixture.from().pid());
    EXPECT_TRUE(
        eventually([&] { return text_of("/proc/" + pid + "/task/" + pid + "/children").empty(); }));
}

boost::asio::awaitable<int> run_many(trial& fixture, int count) {
    std::vector<std::unique_ptr<child>> all;
    for (int turn = 0; turn < count; ++turn) {
        all.push_back(std::make_unique<child>(fixture.loop().get_executor(), fixture.from()));
        command wanted = shell("sleep 0.05; exit " + std::to_string(turn));
        const limits until{};
        co_await all.back()->spawn(std::move(wanted), until);
    }
    int wrong = 0;
    for (int turn = 0; turn < count; ++turn) {
        const exit_status status = co_await all[static_cast<std::size_t>(turn)]->wait();
        if (status.code != turn) ++wrong;
    }
    co_return wrong;
}

// An agent runs several commands at once; each keeps its own status.
TEST(Child, ManyRunAtOnceWithoutMixingTheirStatuses) {
    trial fixture;
    auto work = run_many(fixture, 20);
    EXPECT_EQ(fixture.loop().wait_for(std::move(work)), 0);
}

}  // namespace
}  // namespace pawl::exec
