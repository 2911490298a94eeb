#include "time/check_clock.hpp"

#include "time/clocks.hpp"

#include <gtest/gtest.h>

namespace pawl::time {
namespace {

using namespace std::chrono_literals;

// Goal: a clock is found wrong only where it certainly is, on either side. Method: bounds around
// our own clock, and an hour before and behind it.
TEST(CheckClock, AClockIsWrongWhereOursIsOutsideItsBounds) {
    const auto ours = wall_now().time_since_epoch();
    const auto judged = [&](std::chrono::microseconds off) {
        return check_clock("it", ours + off - 1min, ours + off + 1min, "agrees");
    };
    EXPECT_EQ(judged(0s).level, severity::ok);
    EXPECT_EQ(judged(0s).text, "it agrees");
    for (const auto off : {-1h, 1h}) {
        EXPECT_EQ(judged(off).level, severity::warn);
        EXPECT_EQ(judged(off).text.find("it is at least 5"), 0u) << judged(off).text;
    }
}

}  // namespace
}  // namespace pawl::time
