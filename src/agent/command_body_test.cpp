#include "agent/command_body.hpp"

#include "agent/body_fixture.hpp"
#include "test_support/faults/held_users.hpp"
#include "tests/crash/fork_trap.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <limits>

namespace pawl::agent {
namespace {

using testing_faults::held_users;

using namespace std::chrono_literals;
using crash::scratch_folder;
using schedule::stop_cause;
using testing::HasSubstr;
using testing::StartsWith;

// A shell tells its stderr of children that a signal has ended.
const std::string waits_for_ever = "echo ready; while :; do sleep 0.05; done 2> /dev/null";

interference when_ready(std::function<void(schedule::body&)> act) {
    interference what;
    what.on_output = [act = std::move(act)](schedule::body& body, const std::string& text) {
        if (text.find("ready") != std::string::npos) act(body);
    };
    return what;
}

interference stopping_when_ready(stop_cause why) {
    return when_ready([why](schedule::body& body) { body.stop(why); });
}

// A command that ends with 0 has succeeded; what it wrote to either stream came in its order.
TEST(CommandBody, PassesOutputOnInTheOrderOfBothStreams) {
    body_trial fixture;
    const auto ended = fixture.run(shell("echo one; echo two >&2; echo three; printf four >&2"));
    EXPECT_TRUE(ended.how.succeeded);
    EXPECT_EQ(ended.how.exit_status, 0);
    EXPECT_EQ(ended.how.reason, "");
    EXPECT_EQ(ended.output, "one\ntwo\nthree\nfour");
}

// Another status, or a signal, is a failure with one line that says which.
TEST(CommandBody, FailureSaysStatusOrSignal) {
    body_trial fixture;
    auto ended = fixture.run(shell("exit 3"));
    EXPECT_FALSE(ended.how.succeeded);
    EXPECT_EQ(ended.how.exit_status, 3);
    EXPECT_EQ(ended.how.reason, "exit 3");
    ended = fixture.run(shell("ulimit -c 0; kill -SEGV $$"));
    EXPECT_FALSE(ended.how.succeeded);
    EXPECT_EQ(ended.how.exit_status, 128 + SIGSEGV);
    EXPECT_EQ(ended.how.reason, "killed by SIGSEGV");
    ended = fixture.run(shell("kill -42 $$"));
    EXPECT_EQ(ended.how.reason, "killed by signal 42");
}

// The job's own arguments come first, then those of this manual run; stdin is empty.
TEST(CommandBody, ArgumentsOfTheRunAreAppendedAndStdinIsEmpty) {
    body_trial fixture;
    auto job = shell("cat; echo \"$0 $1 $2\"");
    job.command.push_back("own");
    const auto ended = fixture.run(job, order_of({"first", "two words"}));
    EXPECT_EQ(ended.output, "own first two words\n");
}

// A trigger that was written past the API and the command line is still bound to the job.
TEST(CommandBody, ArgumentsThatTheJobDoesNotAllowRunNothing) {
    body_trial fixture;
    auto job = shell("echo ran");
    job.arguments = {.patterns = {"--day=*"}};
    EXPECT_EQ(fixture.run(job, order_of({"--day=1"})).output, "ran\n");
    const auto rejected = fixture.run(job, order_of({"--day=1", "--checkpoint-action=exec=sh"}));
    EXPECT_FALSE(rejected.how.succeeded);
    EXPECT_EQ(rejected.how.reason,
              "argument '--checkpoint-action=exec=sh' is not allowed for job 'trial'; expected "
              "'--day=*'");
    EXPECT_EQ(rejected.output, "");
}

// The variables of the run arrive, with the job's env and secrets, and with both URLs.
TEST(CommandBody, TheCommandSeesItsRunAndItsVariables) {
    body_trial fixture;
    fixture.surround_with({"sqlite:/tmp/leases.db", "sqlite:/tmp/runs.db"}, 10s);
    auto job = shell(
        "echo $PAWL_JOB $PAWL_KEY $PAWL_FENCE_TOKEN $MODE $SECRET; "
        "echo $PAWL_STORE $PAWL_JOURNAL");
    job.env = {{"MODE", "full"}};
    job.secrets = {{"SECRET", "hunter2"}};
    job.store_access = true;
    EXPECT_EQ(fixture.run(job).output,
              "trial job/trial 42 full hunter2\nsqlite:/tmp/leases.db sqlite:/tmp/runs.db\n");
}

// Limits, umask, nice value and directory of the job hold for the command: ask from inside.
TEST(CommandBody, LimitsMaskPriorityAndDirectoryHoldInside) {
    body_trial fixture;
    auto job = shell(
        "ulimit -n; ulimit -p; ulimit -v; ulimit -t; ulimit -Ht; ulimit -f; "
        "ulimit -c; umask; nice; pwd");
    job.limits.open_files = 64;
    job.limits.processes = 4000;
    job.limits.memory = 1 << 30;
    job.limits.cpu_time = 90s;
    job.limits.file_size = 1 << 20;
    job.limits.core_size = 0;
    job.umask = 027;
    job.nice = 5;
    job.working_directory = "/usr";
    EXPECT_EQ(fixture.run(job).output, "64\n4000\n1048576\n90\n91\n2048\n0\n0027\n5\n/usr\n");
}

// "unlimited" reaches the kernel as such: a soft limit of the agent no longer holds.
TEST(CommandBody, WhatIsUnlimitedHasNoLimit) {
    rlimit mine{};
    getrlimit(RLIMIT_FSIZE, &mine);
    if (mine.rlim_max != RLIM_INFINITY) GTEST_SKIP() << "files have a hard limit on this machine";
    const rlimit narrow{1u << 30, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &narrow);
    body_trial fixture;
    auto job = shell("ulimit -f");
    EXPECT_EQ(fixture.run(job).output, "2097152\n");
    job.limits.file_size = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(fixture.run(job).output, "unlimited\n");
    setrlimit(RLIMIT_FSIZE, &mine);
}

// A limit that is passed ends the command with a signal that says so.
TEST(CommandBody, ALimitThatIsPassedReadsAsItsSignal) {
    body_trial fixture;
    auto job = shell("while :; do :; done");
    job.limits.cpu_time = 1s;
    job.limits.core_size = 0;
    EXPECT_EQ(fixture.run(job).how.reason, "killed by SIGXCPU");
}

// As another user a command has that user's rights, groups and environment, and can open its own
// stdout by name.
TEST(CommandBody, RunsAsAnotherUserInThatUsersEnvironment) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can run a command as another user";
    const passwd* other = getpwnam("nobody");
    ASSERT_NE(other, nullptr);
    const std::string home = other->pw_dir;
    setenv("TRIAL_OF_BODY", "the agent's own", 1);
    body_trial fixture;
    auto job = shell(
        "id -un; id -Gn; echo \"$USER $LOGNAME $HOME ${TRIAL_OF_BODY-unset} $MODE\"; "
        "echo by name > /dev/stdout; cat /etc/shadow 2> /dev/null || echo rejected");
    job.user = "nobody";
    job.env = {{"MODE", "full"}};
    EXPECT_EQ(fixture.run(job).output,
              "nobody\nnogroup\nnobody nobody " + home + " unset full\nby name\nrejected\n");
    job = shell("id -gn; id -Gn");
    job.user = "nobody";
    job.group = "daemon";
    EXPECT_THAT(fixture.run(job).output, StartsWith("daemon\ndaemon"));
    unsetenv("TRIAL_OF_BODY");
}

// Who runs as the agent's own user keeps the agent's environment, unless a clean one is asked for.
TEST(CommandBody, TheOwnEnvironmentStaysUnlessACleanOneIsAskedFor) {
    setenv("TRIAL_OF_BODY", "the agent's own", 1);
    body_trial fixture;
    auto job = shell("echo \"${TRIAL_OF_BODY-unset}\"");
    EXPECT_EQ(fixture.run(job).output, "the agent's own\n");
    job.clean_environment = true;
    EXPECT_EQ(fixture.run(job).output, "unset\n");
    unsetenv("TRIAL_OF_BODY");
}

std::string reason_of(body_trial& fixture, config::job_settings job,
                      schedule::run_order order = order_of()) {
    job.env = {{"PASSWORD", "hunter2"}};
    job.secrets = {{"TOKEN", "hunter3"}};
    const auto ended = fixture.run(std::move(job), std::move(order));
    EXPECT_FALSE(ended.how.succeeded);
    EXPECT_FALSE(ended.how.exit_status);
    EXPECT_EQ(ended.output, "");
    EXPECT_EQ(ended.how.reason.find("hunter"), std::string::npos) << ended.how.reason;
    EXPECT_EQ(ended.how.reason.find('\n'), std::string::npos) << ended.how.reason;
    return ended.how.reason;
}

// A command that cannot run says in one line why: what is not there, and what may not be run.
TEST(CommandBody, WhatCannotRunSaysWhyInOneLine) {
    const scratch_folder folder;
    body_trial fixture;
    EXPECT_EQ(reason_of(fixture, job_of({"frobnicate", "--all"})),
              "cannot run 'frobnicate': not found in PATH");
    EXPECT_EQ(reason_of(fixture, job_of({"/no/such\nthing"})),
              "cannot run '/no/such?thing': not found");
    EXPECT_EQ(reason_of(fixture, job_of({"/etc/passwd"})),
              "cannot run '/etc/passwd': Permission denied");
    auto job = shell("true");
    job.working_directory = folder.file("missing");
    EXPECT_EQ(reason_of(fixture, job), "cannot run '/bin/sh': cannot enter '" +
                                           folder.file("missing") + "': No such file or directory");
    job = shell("true");
    job.user = "nobody-of-this-name";
    EXPECT_EQ(reason_of(fixture, job),
              "cannot run '/bin/sh': there is no user 'nobody-of-this-name' on this machine");
    job = shell("true");
    job.group = "nobody-of-this-name";
    EXPECT_EQ(reason_of(fixture, job),
              "cannot run '/bin/sh': there is no group 'nobody-of-this-name' on this machine");
    EXPECT_EQ(reason_of(fixture, shell("true"), order_of({std::string{"a\0b", 3}})),
              "argument 3 of the command holds a NUL byte, which no command can be given");
}

// A directory that only the agent may enter is refused to the user the command runs as.
TEST(CommandBody, ADirectoryIsEnteredWithTheRightsOfTheUser) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can run a command as another user";
    const scratch_folder folder;
    std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
    body_trial fixture;
    auto job = shell("true");
    job.user = "nobody";
    job.working_directory = folder.path();
    EXPECT_EQ(reason_of(fixture, job),
              "cannot run '/bin/sh': cannot enter '" + folder.path() + "': Permission denied");
}

// Ten thousand variables arrive; more than the system takes is one clear line.
TEST(CommandBody, ManyVariablesArriveAndTooManyAreOneClearLine) {
    body_trial fixture;
    auto job = shell("env | grep -c ^V_");
    for (int at = 0; at < 10'000; ++at) job.env.push_back({"V_" + std::to_string(at), "short"});
    EXPECT_EQ(fixture.run(job).output, "10000\n");
    const std::string too_long =
        "cannot run '/bin/sh': its arguments and environment are longer than the system allows";
    for (auto& one : job.env) one.value = std::string(1000, 'x');
    EXPECT_EQ(fixture.run(job).how.reason, too_long);
    // One argument alone has a bound of 128 KiB.
    EXPECT_EQ(reason_of(fixture, shell("true"), order_of({std::string(200'000, 'x')})), too_long);
}

// A command that heeds SIGTERM has its say, and still has not succeeded: it is unknown how far it
// came.
TEST(CommandBody, StopIsHeardAndTheReasonSaysWhoAsked) {
    body_trial fixture;
    const auto trap = "trap 'echo bye; exit 0' TERM; " + waits_for_ever;
    for (const auto& [why, words] :
         {std::pair{stop_cause::cancelled, "cancelled"},
          std::pair{stop_cause::timed_out, "timed out"},
          std::pair{stop_cause::lost, "its lease was lost"},
          std::pair{stop_cause::shutdown, "the agent was shutting down"}}) {
        const auto ended = fixture.run(shell(trap), order_of(), stopping_when_ready(why));
        EXPECT_FALSE(ended.how.succeeded);
        EXPECT_EQ(ended.how.exit_status, 0);
        EXPECT_EQ(ended.how.reason, "stopped (" + std::string{words} + "): exit 0");
        EXPECT_EQ(ended.output, "ready\nbye\n");
    }
}

// Goal: a command has its grace while no other can hold its key, also where the store does not
// answer. Method: one that takes a while to end, and a store that would leave it no time if asked.
TEST(CommandBody, AStoreThatIsAwayLeavesItItsGrace) {
    body_trial fixture;
    fixture.inspect_by([](std::string) -> async<std::optional<record>> {
        co_return failure{errc::unreachable, "no answer"};
    });
    const auto ended =
        fixture.run(shell("trap 'sleep 0.5; echo bye; exit 0' TERM; " + waits_for_ever), order_of(),
                    stopping_when_ready(stop_cause::lost));
    EXPECT_EQ(ended.how.exit_status, 0);
    EXPECT_EQ(ended.output, "ready\nbye\n");
}

// Goal: a command whose key another process holds is gone at once, also if it was told to stop
// before. Method: it does not heed SIGTERM, and has a grace that is longer than the test may take.
TEST(CommandBody, AKeyThatAnotherClientHoldsLeavesItNoGrace) {
    body_trial fixture;
    fixture.inspect_by([](std::string key) -> async<std::optional<record>> {
        record other;
        other.key = std::move(key);
        other.holder = fence_token{99};
        other.remaining = 1min;
        co_return std::optional{other};
    });
    auto job = shell("trap '' TERM; " + waits_for_ever);
    job.grace = 10min;
    const auto ended = fixture.run(job, order_of(), when_ready([](schedule::body& body) {
                                       body.stop(stop_cause::lost);
                                       body.force_stop();
                                   }));
    EXPECT_FALSE(ended.how.succeeded);
    EXPECT_EQ(ended.how.exit_status, 137);
}

// Stopped before it runs, a body starts nothing.
TEST(CommandBody, StoppedBeforeItRunsItStartsNothing) {
    const scratch_folder folder;
    body_trial fixture;
    interference what;
    what.before = [](schedule::body& body) { body.stop(stop_cause::shutdown); };
    const auto ended = fixture.run(shell("touch " + folder.file("ran")), order_of(), what);
    EXPECT_EQ(ended.how.reason, "stopped before it began (the agent was shutting down)");
    EXPECT_FALSE(ended.how.started);
    EXPECT_FALSE(ended.how.exit_status);
    EXPECT_FALSE(std::filesystem::exists(folder.file("ran")));
}

// A stop that comes while the command is being started is not lost: try it in every turn of the
// loop until the command has written.
TEST(CommandBody, AStopWhileItStartsIsNotLost) {
    body_trial fixture;
    for (int turns = 0; turns < 40; ++turns) {
        interference what;
        const auto executor = fixture.loop().get_executor();
        what.before = [&, turns](schedule::body& body) {
            struct countdown {
                boost::asio::any_io_executor executor;
                schedule::body* body;
                int left;
                void operator()() {
                    if (left-- == 0) return body->stop(stop_cause::cancelled);
                    const auto where = executor;
                    boost::asio::post(where, std::move(*this));
                }
            };
            boost::asio::post(executor, countdown{executor, &body, turns});
        };
        const auto ended = fixture.run(job_of({"/bin/sleep", "600"}), order_of(), what);
        EXPECT_THAT(ended.how.reason, HasSubstr("(cancelled)"));
    }
}

// Acts in a turn of the loop in which the run's socket is there: then the command goes to its
// guard.
template <class Act>
void when_handed_over(boost::asio::any_io_executor executor, const exec::launcher& guards,
                      Act act) {
    boost::asio::post(executor, [executor, &guards, act = std::move(act)]() mutable {
        if (!std::filesystem::is_empty(guards.folder())) return act();
        when_handed_over(executor, guards, std::move(act));
    });
}

// Told to stop while it starts, and its guard dies: that it may have run must not be lost, or its
// occurrence is given back and runs again.
TEST(CommandBody, AStopBesideTheDeathOfItsGuardDoesNotSayThatItNeverBegan) {
    body_trial fixture;
    const crash::fork_trap trap{fixture.guards().pid()};
    interference what;
    const auto executor = fixture.loop().get_executor();
    what.before = [&](schedule::body& body) {
        when_handed_over(executor, fixture.guards(), [&] {
            body.stop(stop_cause::shutdown);
            const auto guard = trap.caught().stopped;
            EXPECT_NE(guard, 0);
            if (guard != 0) kill(guard, SIGKILL);
        });
    };
    const auto ended = fixture.run(job_of({"/bin/true"}), order_of(), what);
    EXPECT_TRUE(ended.how.started);
    EXPECT_FALSE(ended.how.succeeded);
    EXPECT_EQ(ended.how.reason,
              "the guard of '/bin/true' was killed while it was being started: it may have run");
    EXPECT_EQ(ended.how.ending, runs::work_ending::guard_lost);
}

// Cancelled while the process that starts guards stands still: the run ends, though its lease is
// renewed, and nothing of it has begun.
TEST(CommandBody, AStopEndsARunWhoseGuardDoesNotAnswer) {
    body_trial fixture;
    kill(fixture.guards().pid(), SIGSTOP);
    interference what;
    const auto executor = fixture.loop().get_executor();
    what.before = [&](schedule::body& body) {
        when_handed_over(executor, fixture.guards(), [&] {
            const instant later = lease_clock::now() + 600s;
            body.extend(later, later);
            body.stop(stop_cause::cancelled);
        });
    };
    auto job = job_of({"/bin/true"});
    job.grace = millis{100};
    const auto ended = fixture.run(std::move(job), order_of(), what);
    EXPECT_FALSE(ended.how.started);
    EXPECT_EQ(ended.how.reason, "stopped before it began (cancelled)");
}

// The machine has no descriptor for its guard: nothing has begun, so that its occurrence is given
// back. What is wrong with the command itself uses it up.
TEST(CommandBody, ForWhichThereWasNoDescriptorHasNotBegun) {
    body_trial fixture;
    EXPECT_TRUE(fixture.run(job_of({"frobnicate"})).how.started);
    // Its streams, its socket, that for signals and a spare one.
    const rlimit none_left{6, 6};
    ASSERT_EQ(prlimit(fixture.guards().pid(), RLIMIT_NOFILE, &none_left, nullptr), 0);
    const auto ended = fixture.run(job_of({"/bin/true"}));
    EXPECT_FALSE(ended.how.started);
    // Which of its steps fails goes by the descriptors that this process was given.
    EXPECT_THAT(ended.how.reason, StartsWith("cannot run '/bin/true': its guard did not start: "));
}

// The second of two stops changes neither the reason nor the end.
TEST(CommandBody, ASecondStopChangesNothing) {
    body_trial fixture;
    interference what;
    what.on_output = [](schedule::body& body, const std::string& text) {
        body.stop(stop_cause::timed_out);
        if (text.find("again") != std::string::npos) body.stop(stop_cause::cancelled);
    };
    const auto ended = fixture.run(
        shell("trap 'echo again; sleep 0.1; exit 4' TERM; " + waits_for_ever), order_of(), what);
    EXPECT_EQ(ended.how.reason, "stopped (timed out): exit 4");
    EXPECT_EQ(ended.output, "ready\nagain\n");
}

// A deadline that has passed before it runs means that another node may have the key: nothing
// starts.
TEST(CommandBody, ADeadlineThatHasPassedStartsNothing) {
    const scratch_folder folder;
    body_trial fixture;
    interference what;
    what.before = [](schedule::body& body) {
        const instant past = lease_clock::now() - 1s;
        body.extend(past, past);
    };
    const auto ended = fixture.run(shell("touch " + folder.file("ran")), order_of(), what);
    EXPECT_FALSE(ended.how.started);
    EXPECT_EQ(ended.how.reason, "");  // the run says that its lease has ended
    EXPECT_FALSE(std::filesystem::exists(folder.file("ran")));
}

// A deadline moved into the past ends the command at once, by force.
TEST(CommandBody, ADeadlineMovedIntoThePastEndsItAtOnce) {
    body_trial fixture;
    interference what;
    what.on_output = [](schedule::body& body, const std::string&) {
        const instant past = lease_clock::now() - 1s;
        body.extend(past, past);
    };
    const auto ended = fixture.run(shell("trap '' TERM; " + waits_for_ever), order_of(), what);
    EXPECT_EQ(ended.how.reason, "stopped (its lease was about to end): killed by SIGKILL");
    EXPECT_EQ(ended.how.ending, runs::work_ending::deadline);
}

// Deadlines that are told before the run hold from its beginning.
TEST(CommandBody, ADeadlineFromBeforeTheRunHolds) {
    body_trial fixture;
    interference what;
    instant stop_at{};
    what.before = [&](schedule::body& body) {
        stop_at = lease_clock::now() + 1s;
        body.extend(stop_at, stop_at + 30s);
    };
    const auto ended = fixture.run(job_of({"/bin/sleep", "600"}), order_of(), what);
    EXPECT_GE(lease_clock::now(), stop_at);
    EXPECT_EQ(ended.how.reason, "stopped (its lease was about to end): killed by SIGTERM");
    EXPECT_EQ(ended.how.ending, runs::work_ending::deadline);
}

// A dry run is told what would run, or why nothing could, and runs nothing.
TEST(CommandBody, WhatWouldRunIsKnownWithoutRunningIt) {
    body_trial fixture;
    auto job = job_of({"report", "--day"});
    job.working_directory = "/srv";
    net::event never;
    auto work = resolve(fixture.around(), std::make_shared<const config::job_settings>(job),
                        order_of({"today"}), never);
    const auto found = fixture.loop().wait_for(std::move(work));
    ASSERT_TRUE(found.has_value()) << found.error().what;
    EXPECT_THAT(found->arguments, testing::ElementsAre("report", "--day", "today"));
    EXPECT_THAT(found->environment, testing::Contains("PAWL_KEY=job/trial"));
    EXPECT_EQ(found->working_directory, "/srv");
    job.user = "nobody-of-this-name";
    auto again = resolve(fixture.around(), std::make_shared<const config::job_settings>(job),
                         order_of(), never);
    EXPECT_TRUE(fixture.loop().wait_for(std::move(again)).has_error());
}

// Goal: a run that waits for the directory of users ends when it is stopped, and has not begun; and
// what the directory did not say uses no occurrence up. Method: a user whose look-up hangs, and one
// whose look-up fails.
TEST(CommandBody, ADirectoryOfUsersThatHangsHoldsNoRun) {
    held_users::instance().hang();
    body_trial fixture;
    auto job = shell("true");
    job.user = held_users::hung;
    interference what;
    // In the turn of the loop after that in which the directory is asked.
    what.before = [&](schedule::body& body) {
        boost::asio::post(fixture.loop().get_executor(),
                          [&body] { body.stop(schedule::stop_cause::cancelled); });
    };
    const auto hung = fixture.run(job, order_of(), what);
    EXPECT_FALSE(hung.how.started);
    held_users::instance().go_on();
}

TEST(CommandBody, ADirectoryOfUsersThatFailsIsNoFailureOfTheRun) {
    body_trial fixture;
    auto job = shell("true");
    job.user = held_users::failing;
    const auto failed = fixture.run(job);
    EXPECT_FALSE(failed.how.started);
    EXPECT_NE(failed.how.reason.find("did not answer: Too many open files"), std::string::npos)
        << failed.how.reason;
    job.user = "nobody-of-this-name";
    EXPECT_TRUE(fixture.run(job).how.started);
}

}  // namespace
}  // namespace pawl::agent
