#include "cli/demo/drill_events.hpp"

#include <gtest/gtest.h>

namespace pawl::cli {
namespace {

instant at(int nanoseconds) { return instant{std::chrono::nanoseconds{nanoseconds}}; }

// Goal: a write that was begun before the fault is no late one. Method: its holder is frozen
// between the check of its token and the answer to it, and tells of the answer when it wakes.
TEST(DrillEvents, AWriteThatWasBegunBeforeTheBlowIsNotLate) {
    drill_events seen;
    seen.take("holder", "writing 7 100");
    seen.inject("holder", at(105));
    seen.take("holder", "wrote 7 900 7");
    EXPECT_EQ(seen.count("holder", "wrote"), 0u);
    EXPECT_EQ(seen.last("holder", "had_written").at, at(900));
}

TEST(DrillEvents, AWriteThatWasBegunAfterTheBlowIsLate) {
    drill_events seen;
    seen.take("holder", "writing 7 100");
    seen.inject("holder", at(105));
    seen.take("holder", "wrote 7 900 7");
    seen.take("holder", "writing 7 910");
    seen.take("holder", "wrote 7 920 7");
    EXPECT_EQ(seen.count("holder", "wrote"), 1u);
}

// What was told before the fault may be read after it; and the fault hits the holder alone.
TEST(DrillEvents, WritesThatWereAnsweredBeforeTheBlowAndThoseOfOthersAreAsTheyWere) {
    drill_events seen;
    seen.take("holder", "writing 7 100");
    seen.take("successor", "writing 8 101");
    seen.inject("holder", at(105));
    seen.take("holder", "wrote 7 104 7");
    seen.take("successor", "wrote 8 900 8");
    EXPECT_EQ(seen.count("holder", "wrote"), 1u);
    EXPECT_EQ(seen.count("successor", "wrote"), 1u);
    EXPECT_EQ(seen.last("successor", "wrote").newest, 8u);
}

}  // namespace
}  // namespace pawl::cli
