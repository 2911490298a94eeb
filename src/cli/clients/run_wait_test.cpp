#include "cli/clients/run_wait.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

seen_run queued() {
    seen_run look;
    look.waits_for = "report";
    return look;
}

seen_run row(run_status status) {
    seen_run look;
    look.run.emplace();
    look.run->status = status;
    return look;
}

TEST(RunWait, IsOverWithTheRun) {
    run_wait wait;
    for (const auto& look : {queued(), row(run_status::started)}) {
        wait.see(look);
        EXPECT_FALSE(wait.is_finished());
    }
    wait.see(row(run_status::completed));
    EXPECT_TRUE(wait.is_finished());
    ASSERT_TRUE(wait.ended());
    EXPECT_EQ(wait.ended()->status, run_status::completed);
}

// Goal: a run that began is not said to be cancelled. Method: its row goes between two
// looks, as where the job keeps few.
TEST(RunWait, ARowThatIsNoLongerKeptIsNoCancelledRun) {
    run_wait wait;
    wait.see(row(run_status::started));
    wait.see({});
    EXPECT_TRUE(wait.is_finished());
    EXPECT_FALSE(wait.ended());
    EXPECT_THAT(wait.reason(), HasSubstr("no longer recorded"));
    EXPECT_THAT(wait.reason(), Not(HasSubstr("cancelled")));
}

TEST(RunWait, WhatWasNeverSeenToBeginMayBeEither) {
    run_wait wait;
    wait.see(queued());
    wait.see({});
    EXPECT_TRUE(wait.is_finished());
    EXPECT_THAT(wait.reason(), HasSubstr("was cancelled before it started, or"));
}

}  // namespace
}  // namespace pawl::cli
