// A start that is disturbed: by the death, the standstill or the silence of those who take part in
// it.
#include "exec/exec_fixture.hpp"
#include "tests/crash/fork_trap.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <utility>

namespace pawl::exec {
namespace {

using namespace std::chrono_literals;
using crash::eventually;
using crash::fork_trap;
using crash::scratch_folder;

// Acts in the turn of the loop after that in which the command goes to its guard.
boost::asio::awaitable<std::optional<spawn_fault>> spawn_and_then(child& running, command wanted,
                                                                  std::function<void()> act,
                                                                  limits until = {}) {
    boost::asio::post(co_await boost::asio::this_coro::executor, std::move(act));
    auto spawning = running.spawn(std::move(wanted), until);
    co_return co_await std::move(spawning);
}

// Starts a command that leaves a daemon, whose guard is frozen behind its fork; acts once both run.
// Both are dead when it answers.
std::optional<spawn_fault> start_frozen(trial& fixture, const std::function<void(child&)>& act) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    const fork_trap trap{fixture.from().pid()};
    child running{fixture.loop().get_executor(), fixture.from()};
    auto spawning = spawn_and_then(running, token_writer(log, {"--daemon", "--ignore-term"}), [&] {
        EXPECT_NE(trap.caught().stopped, 0);
        EXPECT_TRUE(eventually([&] { return writers_of(log).size() == 2; }));
        act(running);
    });
    auto fault = fixture.loop().wait_for(std::move(spawning));
    EXPECT_FALSE(any_runs(writers_of(log)));
    return fault;
}

// The launcher frozen beyond the deadline: it is not known in time whether the command runs, and it
// does not begin when the launcher goes on.
TEST(Start, ThatNoGuardAnswersByItsDeadlineCameTooLate) {
    const scratch_folder folder;
    trial fixture;
    kill(fixture.from().pid(), SIGSTOP);
    const auto fault = fixture.fault_of(shell("touch " + folder.file("ran")), killed_after(1s));
    kill(fixture.from().pid(), SIGCONT);
    ASSERT_TRUE(fault);
    EXPECT_TRUE(fault->came_too_late());
    EXPECT_FALSE(fault->may_have_run());
    // Its guard is forked before this one's.
    EXPECT_EQ(fixture.run(shell("true")).as_shell(), 0);
    EXPECT_FALSE(std::filesystem::exists(folder.file("ran")));
}

// A guard is frozen behind the fork of the command, of which it has not spoken: at the deadline the
// command, and a daemon that it has left, are dead before the start is told to have been cut short,
// as the lease is released then.
TEST(Start, CutShortLeavesNoCommandBehindAFrozenGuard) {
    trial fixture;
    const auto fault = start_frozen(fixture, [](child& running) {
        const instant now = lease_clock::now();
        running.extend(now, now);
    });
    ASSERT_TRUE(fault);
    EXPECT_TRUE(fault->was_cut_short());
    EXPECT_TRUE(fault->may_have_run());
}

// The launcher frozen: renewals of the lease do not prolong the wait for it, at the end of which it
// is known that nothing ran, and the launcher is continued.
TEST(Start, RenewalsDoNotProlongTheWaitForAGuard) {
    const scratch_folder folder;
    trial fixture;
    kill(fixture.from().pid(), SIGSTOP);
    const instant began = lease_clock::now();
    limits until = killed_after(60s);
    until.start_timeout = 1s;
    child running{fixture.loop().get_executor(), fixture.from()};
    const auto renew = [&] {
        const instant later = lease_clock::now() + 120s;
        running.extend(later, later);
    };
    const auto wanted = shell("touch " + folder.file("ran"));
    auto spawning = spawn_and_then(running, wanted, renew, until);
    const auto fault = fixture.loop().wait_for(std::move(spawning));
    EXPECT_LT(lease_clock::now() - began, 50s);
    ASSERT_TRUE(fault);
    EXPECT_FALSE(fault->may_have_run());
    EXPECT_THAT(fault->describe(wanted), testing::HasSubstr("does not answer"));
    EXPECT_EQ(fixture.run(shell("exit 3")).code, 3);
    EXPECT_FALSE(std::filesystem::exists(folder.file("ran")));
}

// So does the first deadline, where it is the earlier one.
TEST(Start, HasToHaveAGuardByTheFirstDeadline) {
    trial fixture;
    kill(fixture.from().pid(), SIGSTOP);
    const instant began = lease_clock::now();
    child running{fixture.loop().get_executor(), fixture.from()};
    const auto renew = [&] {
        const instant later = lease_clock::now() + 120s;
        running.extend(later, later);
    };
    auto spawning = spawn_and_then(running, shell("true"), renew, killed_after(6s));
    const auto fault = fixture.loop().wait_for(std::move(spawning));
    EXPECT_LT(lease_clock::now() - began, 25s);
    ASSERT_TRUE(fault);
    EXPECT_FALSE(fault->was_cut_short());
    EXPECT_FALSE(fault->may_have_run());
}

// The launcher frozen, and no deadline: a stop ends the wait.
TEST(Start, ThatIsStoppedWaitsForNoGuard) {
    trial fixture;
    kill(fixture.from().pid(), SIGSTOP);
    const instant began = lease_clock::now();
    child running{fixture.loop().get_executor(), fixture.from()};
    auto spawning = spawn_and_then(running, shell("true"), [&] { running.stop(100ms); });
    const auto fault = fixture.loop().wait_for(std::move(spawning));
    EXPECT_LT(lease_clock::now() - began, 25s);
    ASSERT_TRUE(fault);
    EXPECT_FALSE(fault->may_have_run());
    // ~trial waits for the launcher, which is continued.
    kill(fixture.from().pid(), SIGSTOP);
}

// So does a bound on the answer: the launcher is frozen, and nothing has run.
TEST(Start, ThatIsNotAnsweredWithinABoundWaitsForNoGuard) {
    const scratch_folder folder;
    trial fixture;
    kill(fixture.from().pid(), SIGSTOP);
    const instant began = lease_clock::now();
    child running{fixture.loop().get_executor(), fixture.from()};
    const auto wanted = shell("touch " + folder.file("ran"));
    auto spawning = spawn_and_then(running, wanted, [&] { running.answer_within(100ms); });
    const auto fault = fixture.loop().wait_for(std::move(spawning));
    EXPECT_LT(lease_clock::now() - began, 25s);
    ASSERT_TRUE(fault);
    EXPECT_FALSE(fault->may_have_run());
    EXPECT_EQ(fixture.run(shell("exit 3")).code, 3);
    EXPECT_FALSE(std::filesystem::exists(folder.file("ran")));
}

// One that is answered is not cut short by it, however long the command runs.
TEST(Start, ThatIsAnsweredWithinABoundSucceeds) {
    trial fixture;
    const scratch_folder folder;
    child running{fixture.loop().get_executor(), fixture.from()};
    const auto wanted =
        shell("until [ -e " + folder.file("go") + " ]; do sleep 0.01; done; exit 3");
    auto spawning = spawn_and_then(running, wanted, [&] { running.answer_within(60s); });
    ASSERT_FALSE(fixture.loop().wait_for(std::move(spawning)));
    running.answer_within(0ms);
    auto work = running.wait();
    std::ofstream{folder.file("go")} << "go";
    EXPECT_EQ(fixture.loop().wait_for(std::move(work)).code, 3);
}

// Both guard and launcher are frozen behind the fork of the command: the launcher is continued for
// what the guard has left.
TEST(Start, CutShortWaitsForNoFrozenLauncher) {
    trial fixture;
    const auto fault = start_frozen(fixture, [&](child& running) {
        kill(fixture.from().pid(), SIGSTOP);
        running.answer_within(100ms);
    });
    ASSERT_TRUE(fault);
    EXPECT_TRUE(fault->may_have_run());
}

// A stop ends a start whose guard is frozen with the command in its hands, and the command with it.
TEST(Start, ThatIsStoppedLeavesNoCommandBehindAFrozenGuard) {
    trial fixture;
    const auto fault = start_frozen(fixture, [](child& running) { running.stop(100ms); });
    ASSERT_TRUE(fault);
    EXPECT_TRUE(fault->may_have_run());
    EXPECT_FALSE(fault->was_cut_short());
    EXPECT_THAT(fault->describe(shell("true")), testing::HasSubstr("did not answer"));
}

// A guard that was stopped behind the fork of the command is continued, and nothing is lost.
TEST(Start, WhoseGuardWasStoppedSucceeds) {
    trial fixture;
    const fork_trap trap{fixture.from().pid(), fork_trap::stop::signalled};
    limits until;
    until.start_timeout = 100ms;
    const exit_status status = fixture.run(shell("exit 3"), until);
    EXPECT_NE(trap.caught().stopped, 0);
    EXPECT_EQ(status.code, 3);
}

// pawl stands still from when the command goes to its guard until the deadline has passed: whatever
// it finds said when it goes on, all is dead before the end is told.
TEST(Start, OfAPawlThatStoodStillLeavesNoCommandBehind) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    trial fixture;
    child running{fixture.loop().get_executor(), fixture.from()};
    const auto stand_still = [&] {
        EXPECT_TRUE(eventually([&] { return writers_of(log).size() == 2; }));
        const instant now = lease_clock::now();
        running.extend(now, now);
    };
    auto spawning =
        spawn_and_then(running, token_writer(log, {"--daemon", "--ignore-term"}), stand_still);
    const auto fault = fixture.loop().wait_for(std::move(spawning));
    if (!fault) {
        auto ending_of = running.wait();
        EXPECT_EQ(fixture.loop().wait_for(std::move(ending_of)).signal, SIGKILL);
    } else {
        EXPECT_TRUE(fault->was_cut_short());
    }
    EXPECT_FALSE(any_runs(writers_of(log)));
}

// Killed with the command in its hands, the guard may have started it: it is not said that nothing
// ran.
TEST(Start, OfWhichItsKilledGuardHasNotSpokenMayHaveRun) {
    trial fixture;
    const fork_trap trap{fixture.from().pid()};
    child running{fixture.loop().get_executor(), fixture.from()};
    auto spawning = spawn_and_then(running, shell("true"), [&] {
        ASSERT_NE(trap.caught().stopped, 0);
        kill(trap.caught().stopped, SIGKILL);
    });
    const auto fault = fixture.loop().wait_for(std::move(spawning));
    ASSERT_TRUE(fault);
    EXPECT_TRUE(fault->may_have_run());
    EXPECT_FALSE(fault->came_too_late());
    EXPECT_THAT(fault->describe(shell("true")), testing::HasSubstr("may have run"));
    // Nothing was handed over where no process was there to take it.
    kill(fixture.from().pid(), SIGKILL);
    ASSERT_TRUE(eventually([&] { return !fixture.from().is_alive(); }));
    // Its end of the socket may be open for a moment yet.
    EXPECT_TRUE(eventually([&] { return !fixture.fault_of(shell("true"))->may_have_run(); }));
}

}  // namespace
}  // namespace pawl::exec
