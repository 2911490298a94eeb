#include "schedule/state/control_cache.hpp"

#include "runs/recorder.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl::schedule {
namespace {

using namespace std::chrono_literals;
using control_source = control_cache::control_source;

const instant now{1h};

job_pause pause_of(const std::string& job) {
    job_pause one;
    one.job = job;
    return one;
}

run_trigger trigger_of(const std::string& id) {
    run_trigger one;
    one.id = id;
    return one;
}

// Once the others have had the time to be heard.
void expect_judges_later(control_cache& state, instant back) {
    state.on_read(back);
    EXPECT_FALSE(state.may_judge(back));
    state.on_read(back + runs::run_heartbeat_timeout / 2);
    EXPECT_FALSE(state.may_judge(back + runs::run_heartbeat_timeout - 1ms));
    EXPECT_TRUE(state.may_judge(back + runs::run_heartbeat_timeout));
}

// A job may be paused as long as the control state was not read; where there is none, nothing is
// paused.
TEST(ControlCache, KnowsThePausesOnceTheControlStateWasRead) {
    EXPECT_TRUE(control_cache{control_source::none}.knows_pauses());
    control_cache state{control_source::journal};
    EXPECT_FALSE(state.knows_pauses());

    state.on_read(now);

    EXPECT_TRUE(state.knows_pauses());
}

// Runs without a heartbeat are stale. One that this node could not have heard is not: neither
// while the control state is away, nor until the others have had the time to be heard again.
TEST(ControlCache, JudgesNothingWhileOrSoonAfterItWasCutOff) {
    control_cache state{control_source::journal};
    const auto timeout = runs::run_heartbeat_timeout / 2;
    const auto last = now + 2 * timeout;
    for (const auto at : {now, now + timeout, last}) state.on_read(at);
    EXPECT_TRUE(state.may_judge(last + timeout));
    EXPECT_FALSE(state.may_judge(last + timeout + 1ms));

    expect_judges_later(state, last + timeout + 1ms);
}

// The whole fleet may have been cut off until just before this node started, and the rows of all of
// it be stale: that each of its own reads was answered says nothing.
TEST(ControlCache, JudgesNothingSoonAfterItsStart) {
    control_cache state{control_source::journal};
    EXPECT_FALSE(state.may_judge(now)) << "it has not read anything";
    expect_judges_later(state, now);
}

// Goal: what was let go of while the control state was away keeps its place until that is read.
// Method: what is due is offered, and the control state cannot be read for the second time.
TEST(ControlCache, LearnsUntilTheControlStateIsRead) {
    control_cache state{control_source::journal};
    {
        const control_cache::learning unanswered{state};
    }
    EXPECT_FALSE(state.is_learning());
    {
        control_cache::learning offered{state};
        offered.on_offered();
    }
    EXPECT_TRUE(state.is_learning());
    {
        const control_cache::learning again{state};
        state.on_read(now);
    }
    EXPECT_FALSE(state.is_learning());
}

// What is paused is what the last control state says, and the one before tells what is resumed.
TEST(ControlCache, RemembersThePausesOfTheLastControlState) {
    control_cache state{control_source::journal};
    EXPECT_TRUE(state.replace_pauses({pause_of("a"), pause_of("b")}).empty());

    const auto before = state.replace_pauses({pause_of("b")});

    EXPECT_EQ(before.size(), 2u);
    EXPECT_EQ(state.pause_of("a"), nullptr);
    ASSERT_NE(state.pause_of("b"), nullptr);
    EXPECT_EQ(state.pause_of("b")->job, "b");
}

// A trigger that has left the control state may still begin here, for a while.
TEST(ControlCache, ForgetsATriggerLongAfterItHasLeftTheControlState) {
    control_cache state{control_source::journal};
    state.on_trigger(trigger_of("1"), now);
    state.on_trigger(trigger_of("2"), now);
    state.on_trigger(trigger_of("1"), now + 1s);
    state.on_trigger(trigger_of("3"), now + 1s);
    state.on_answered("3");

    state.forget_old(now + trigger_memory + 1ms, {});

    EXPECT_NE(state.trigger("1"), nullptr);
    EXPECT_EQ(state.trigger("2"), nullptr);
    EXPECT_EQ(state.trigger("3"), nullptr);
}

// What is first known of an orphan that is done stays, for as long as the control state has the
// orphan.
TEST(ControlCache, RemembersADoneOrphanAsLongAsTheControlStateHasIt) {
    control_cache state{control_source::journal};
    run_record orphan;
    orphan.id = "run";
    state.on_orphan_done("run", {now, fence_token{7}, "owner"});
    state.on_orphan_done("run", {now + 1s, fence_token{8}, "other"});
    state.forget_old(now, {orphan});
    ASSERT_NE(state.find_done("run"), nullptr);
    EXPECT_EQ(state.find_done("run")->token, fence_token{7});
    EXPECT_EQ(state.find_done("run")->seen, now);

    state.forget_old(now, {});

    EXPECT_EQ(state.find_done("run"), nullptr);
}

}  // namespace
}  // namespace pawl::schedule
