#include "cli/exec/exec_run.hpp"

#include "exec/launcher.hpp"
#include "net/loop.hpp"
#include "tests/crash/fork_trap.hpp"
#include "tests/crash/observation.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace pawl::cli {
namespace {

using std::chrono::seconds;

// Goal: where a slow machine lets the command's own time pass before it begins, the row says what
// the exit status says, and tells of no signal.
TEST(ExecRun, ATimeoutThatIsOverBeforeTheCommandBeginsIsATimeout) {
    const auto guards = exec::launcher::start();
    net::loop loop;
    ended how;
    auto running = [&]() -> boost::asio::awaitable<void> {
        const auto one = std::make_shared<exec_run>(loop, guards, millis{0}, millis{0});
        auto command = exec_run::run(one, exec::command{{"/bin/true"}});
        how = co_await std::move(command);
    };
    loop.wait_for(running());
    EXPECT_FALSE(how.started);
    EXPECT_TRUE(how.timed_out);
    runs::run_context under;
    under.cause = how.stopped_by();
    EXPECT_EQ(runs::judge(how.as_work(), under).status, run_status::timed_out);
}

TEST(FirstDeadline, IsWhatTheGuardStoppedTheCommandFor) {
    const instant start{seconds{1'000}};
    first_deadline both;
    both.set_timeout(start + seconds{60});
    both.tell_guard(start + seconds{20}, start);
    EXPECT_FALSE(both.is_timeout(start + seconds{21}));
    // Renewed in time, again and again.
    both.tell_guard(start + seconds{40}, start + seconds{10});
    both.tell_guard(start + seconds{70}, start + seconds{39});
    EXPECT_FALSE(both.is_timeout(start + seconds{59}));
    EXPECT_TRUE(both.is_timeout(start + seconds{61}));
    // The lease ends while the command drains.
    both.tell_guard(start + seconds{65}, start + seconds{65});
    EXPECT_TRUE(both.is_timeout(start + seconds{66}));
}

// Goal: a lease that recovers after it has stopped the command makes no timeout of that: neither
// before the timeout's time nor after it.
TEST(FirstDeadline, StaysTheLeasesWhereThatIsRenewedAfterIt) {
    const instant start{seconds{1'000}};
    first_deadline both;
    both.set_timeout(start + seconds{60});
    both.tell_guard(start + seconds{20}, start);
    both.tell_guard(start + seconds{41}, start + seconds{22});
    both.tell_guard(start + seconds{68}, start + seconds{49});
    EXPECT_FALSE(both.is_timeout(start + seconds{50}));
    EXPECT_FALSE(both.is_timeout(start + seconds{80}));
}

// A command that runs when it is there, and ends with 0 once it has been told to end and may.
class running_command {
public:
    using act = std::function<void(exec_run&, instant now)>;

    explicit running_command(const act& before = {}) {
        one_ = std::make_shared<exec_run>(loop_, guards_, millis{600'000}, millis{600'000});
        exec::command wanted{{"/bin/sh", "-c",
                              "trap ': >" + told_ + "; while ! test -e " + go_ +
                                  "; do sleep 0.01; done; exit 0' TERM; : >" + ready_ +
                                  "; while :; do sleep 0.01; done"}};
        wanted.environment = exec::environment_with({});
        if (before) on_loop([&] { before(*one_, loop_.now()); });
        end_ = boost::asio::co_spawn(loop_.get_executor(), exec_run::run(one_, std::move(wanted)),
                                     boost::asio::use_future);
        const auto runs = [&] {
            bool spawned = false;
            on_loop([&] { spawned = one_->is_running(); });
            return spawned && std::filesystem::exists(ready_);
        };
        EXPECT_TRUE(crash::eventually(runs, millis{60'000}));
    }
    ~running_command() {
        on_loop([&] { one_.reset(); });
    }
    running_command(const running_command&) = delete;
    running_command& operator=(const running_command&) = delete;

    void on_loop(std::function<void()> what) {
        auto doing = [](std::function<void()> todo) -> boost::asio::awaitable<void> {
            todo();
            co_return;
        };
        loop_.wait_for(doing(std::move(what)));
    }
    // Until the command has heard of it.
    void stop_by(const act& tell) {
        on_loop([&] { tell(*one_, loop_.now()); });
        EXPECT_TRUE(
            crash::eventually([&] { return std::filesystem::exists(told_); }, millis{60'000}));
    }
    ended end(const act& meanwhile = {}) {
        if (meanwhile) on_loop([&] { meanwhile(*one_, loop_.now()); });
        std::ofstream{go_} << "go";
        return end_.get();
    }

private:
    const crash::scratch_folder folder_{};
    const std::string ready_ = folder_.file("ready");
    const std::string told_ = folder_.file("told");
    const std::string go_ = folder_.file("go");
    const exec::launcher guards_ = exec::launcher::start();
    net::loop loop_;
    std::shared_ptr<exec_run> one_;
    std::future<ended> end_;
};

// Goal: the same of a command that drains while its lease recovers: it is lost, so that another
// node resumes its occurrence, and no timeout, which would be its end.
TEST(ExecRun, WhatItsLeaseStoppedIsNoTimeoutOnceThatIsRenewed) {
    running_command command;
    command.stop_by([](exec_run& run, instant now) {
        run.on_deadline(now - millis{1}, now + seconds{900}, millis{30'000});
    });
    const auto how = command.end([](exec_run& run, instant now) {
        run.on_deadline(now + seconds{1'800}, now + seconds{1'810}, millis{30'000});
    });
    EXPECT_EQ(how.status, 0);
    EXPECT_FALSE(how.timed_out);
    EXPECT_TRUE(how.by_lease());
    EXPECT_EQ(how.stopped_by(), runs::stop_cause::lost);
}

TEST(ExecRun, WhatStoppedACommandIsToldByHowItEnded) {
    ended how;
    EXPECT_FALSE(how.stopped_by());
    how.cause = exec::ending::deadline;
    EXPECT_EQ(how.stopped_by(), runs::stop_cause::lost);
    how.timed_out = true;
    EXPECT_EQ(how.stopped_by(), runs::stop_cause::timed_out);
    ended early;
    early.started = false;
    EXPECT_EQ(early.stopped_by(), runs::stop_cause::shutdown);
}

// Goal: the exit status, the log and the row tell one cause, the first.
TEST(ExecRun, ACancelledCommandIsOneThatACancelStopped) {
    running_command command;
    command.stop_by([](exec_run& run, instant) { run.cancel(); });
    const auto how = command.end([](exec_run& run, instant) { run.stop(millis{600'000}); });
    EXPECT_FALSE(how.by_lease());
    EXPECT_EQ(how.stopped_by(), runs::stop_cause::cancelled);
}

TEST(ExecRun, ACommandThatWasStoppedForItsLeaseIsNotCancelledAfterwards) {
    running_command command;
    command.stop_by([](exec_run& run, instant) { run.stop(millis{600'000}); });
    const auto how = command.end([](exec_run& run, instant) { run.cancel(); });
    EXPECT_TRUE(how.by_lease());
    EXPECT_EQ(how.stopped_by(), runs::stop_cause::lost);
}

TEST(ExecRun, ACancelBeforeThereIsACommandStopsNone) {
    running_command command{[](exec_run& run, instant) { run.cancel(); }};
    command.stop_by([](exec_run& run, instant now) {
        run.on_deadline(now - millis{1}, now + seconds{900}, millis{30'000});
    });
    const auto how = command.end();
    EXPECT_TRUE(how.by_lease());
    EXPECT_EQ(how.stopped_by(), runs::stop_cause::lost);
}

// Starts a command, and acts in the turn of the loop after that in which it goes to its guard.
ended run_and_then(const exec::launcher& guards, exec::command wanted,
                   const running_command::act& then) {
    net::loop loop;
    ended how;
    auto running = [&]() -> boost::asio::awaitable<void> {
        const auto one = std::make_shared<exec_run>(loop, guards, millis{600'000}, std::nullopt);
        boost::asio::post(loop.get_executor(), [&, one] { then(*one, loop.now()); });
        auto command = exec_run::run(one, std::move(wanted));
        how = co_await std::move(command);
    };
    loop.wait_for(running());
    return how;
}

// Goal: a signal ends the wait for a guard, and what has not begun is given back. Method: the
// process that starts guards stands still.
TEST(ExecRun, ASignalEndsTheWaitForAGuard) {
    const auto guards = exec::launcher::start();
    kill(guards.pid(), SIGSTOP);
    const instant began = lease_clock::now();
    const auto how = run_and_then(guards, exec::command{{"/bin/true"}},
                                  [](exec_run& run, instant) { run.on_signal(SIGTERM); });
    EXPECT_LT(lease_clock::now() - began, seconds{25});
    EXPECT_EQ(how.status, 128 + SIGTERM);
    EXPECT_FALSE(how.started);
    EXPECT_FALSE(how.by_lease());
    runs::run_context under;
    under.cause = how.stopped_by();
    EXPECT_EQ(runs::judge(how.as_work(), under).status, run_status::skipped);
}

// Goal: a command for which there was no guard is no lost lease, which is renewed meanwhile.
// Method: the process that starts guards stands still beyond the end that the lease had at first.
TEST(ExecRun, ARenewalCountsWhileAGuardIsWaitedFor) {
    const auto guards = exec::launcher::start();
    kill(guards.pid(), SIGSTOP);
    net::loop loop;
    ended how;
    auto running = [&]() -> boost::asio::awaitable<void> {
        const auto one = std::make_shared<exec_run>(loop, guards, millis{600'000}, std::nullopt);
        one->on_deadline(loop.now() + seconds{2}, loop.now() + seconds{4}, millis{5'000});
        boost::asio::post(loop.get_executor(), [&, one] {
            one->on_deadline(loop.now() + seconds{600}, loop.now() + seconds{900}, millis{5'000});
        });
        auto command = exec_run::run(one, exec::command{{"/bin/true"}});
        how = co_await std::move(command);
    };
    loop.wait_for(running());
    EXPECT_FALSE(how.started);
    EXPECT_FALSE(how.by_lease());
    runs::run_context under;
    under.cause = how.stopped_by();
    EXPECT_EQ(runs::judge(how.as_work(), under).status, run_status::skipped);
}

// Goal: where no guard came by the deadline nothing has begun. Method: none comes.
TEST(ExecRun, WhatNoGuardWasThereForHasNotBegun) {
    const auto guards = exec::launcher::start();
    kill(guards.pid(), SIGSTOP);
    const auto how =
        run_and_then(guards, exec::command{{"/bin/true"}}, [](exec_run& run, instant now) {
            run.on_deadline(now + millis{100}, now + millis{200}, millis{5'000});
        });
    EXPECT_FALSE(how.started);
    EXPECT_TRUE(how.by_lease());
}

// Goal: nor does it leave a command behind of which its guard has not spoken, and that may have
// run.
TEST(ExecRun, ASignalEndsWhatAGuardThatDoesNotAnswerHasBegun) {
    const crash::scratch_folder folder;
    const auto ready = folder.file("ready");
    const auto guards = exec::launcher::start();
    const crash::fork_trap trap{guards.pid()};
    exec::command wanted{{"/bin/sh", "-c", "trap '' TERM; : >" + ready + "; exec sleep 600"}};
    wanted.environment = exec::environment_with({});
    const auto how = run_and_then(guards, std::move(wanted), [&](exec_run& run, instant) {
        EXPECT_TRUE(
            crash::eventually([&] { return std::filesystem::exists(ready); }, millis{60'000}));
        run.on_signal(SIGINT);
    });
    EXPECT_FALSE(crash::is_running(trap.caught().child));
    EXPECT_EQ(how.status, 128 + SIGINT);
    EXPECT_TRUE(how.started);
    runs::run_context under;
    under.cause = how.stopped_by();
    EXPECT_EQ(runs::judge(how.as_work(), under).status, run_status::failed);
}

// Goal: where the machine had no descriptor for it, nothing has begun, and the row says why.
TEST(ExecRun, ACommandForWhichThereWasNoDescriptorHasNotBegun) {
    const auto guards = exec::launcher::start();
    // Its streams, its socket, that for signals and a spare one.
    const rlimit none_left{6, 6};
    ASSERT_EQ(prlimit(guards.pid(), RLIMIT_NOFILE, &none_left, nullptr), 0);
    const auto how = run_and_then(guards, exec::command{{"/bin/true"}}, [](exec_run&, instant) {});
    EXPECT_EQ(how.status, 126);
    EXPECT_FALSE(how.started);
    runs::run_context under;
    under.cause = how.stopped_by();
    const auto end = runs::judge(how.as_work(), under);
    EXPECT_EQ(end.status, run_status::skipped);
    EXPECT_NE(end.reason.find("Too many open files"), std::string::npos) << end.reason;
}

// Goal: a row says that the guard was killed, rather than that the command ended by itself.
TEST(ExecRun, ACommandWhoseGuardWasKilledSaysSo) {
    ended how;
    how.status = 137;
    how.cause = exec::ending::guard_lost;
    const auto work = how.as_work();
    EXPECT_EQ(work.ending, runs::work_ending::guard_lost);
    EXPECT_EQ(work.reason, "its guard was killed, and the command with it");
    EXPECT_FALSE(how.by_lease());
}

}  // namespace
}  // namespace pawl::cli
