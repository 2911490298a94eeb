#include "cli/exec/exec_run.hpp"

#include "exec/launcher.hpp"
#include "net/loop.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace pawl::cli {
namespace {

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

}  // namespace
}  // namespace pawl::cli
