#include "engines/cas/store/store_clock.hpp"

#include <gtest/gtest.h>

namespace pawl::cas {
namespace {

using namespace std::chrono_literals;

constexpr instant start{1h};

TEST(StoreClock, WithoutAStampNothingIsKnown) {
    store_clock clock{1s, 0s};
    EXPECT_FALSE(clock.at(start));
    clock.hear(std::nullopt);
    EXPECT_FALSE(clock.at(start));
    EXPECT_EQ(clock.age(start), instant::duration::max());
}

// Goal: whatever the store's clock was when it answered, and however far its rate is off within
// the bound, it is between the two. Method: both ends of each uncertainty.
TEST(StoreClock, TheTrueTimeIsWithinTheBounds) {
    constexpr auto asked = start, answered = start + 80ms;
    for (const auto within : {0us, 500'000us, 999'999us})
        for (const auto served : {asked, asked + 40ms, answered})
            for (const auto per_mille : {999, 1000, 1001})
                for (const instant::duration passed : {0ms, 80ms, 500ms, 3'600'000ms}) {
                    store_clock clock{1s, 0s};
                    clock.hear(stamp{100s, asked, answered});
                    const auto now = answered + passed;
                    const auto truth = std::chrono::floor<micros>(
                        100s + within + (now - served) * per_mille / 1000);
                    const auto bounds = clock.at(now);
                    ASSERT_TRUE(bounds);
                    EXPECT_LE(bounds->low, truth);
                    EXPECT_LT(truth, bounds->high);
                }
}

TEST(StoreClock, TheSkewOfTheFrontEndsWidensTheUpperBoundOnly) {
    store_clock one{1ms, 0s}, several{1ms, 2s};
    one.hear(stamp{100s, start, start});
    several.hear(stamp{100s, start, start});
    EXPECT_EQ(several.at(start)->low, one.at(start)->low);
    EXPECT_EQ(several.at(start)->high, one.at(start)->high + 2s);
    EXPECT_EQ(one.at(start)->high, 100s + 1ms);
}

TEST(StoreClock, TheBoundsWidenAsTheStampGrowsOld) {
    store_clock clock{1ms, 0s};
    clock.hear(stamp{100s, start, start});
    EXPECT_EQ(clock.at(start + 100s), (clock_bounds{200s - 100ms, 200s + 100ms + 1ms}));
    EXPECT_EQ(clock.age(start + 100s), 100s);
}

// Goal: an answer that was overtaken by a later one takes nothing back, and a clock that was set
// back is believed: only the store's own clock ends leases.
TEST(StoreClock, TheNewestStampCounts) {
    store_clock clock{1ms, 0s};
    clock.hear(stamp{100s, start, start + 10ms});
    clock.hear(stamp{50s, start, start + 5ms});
    EXPECT_EQ(clock.at(start + 10ms)->low, 100s);
    clock.hear(stamp{50s, start + 11ms, start + 12ms});
    EXPECT_EQ(clock.at(start + 12ms)->low, 50s);
    EXPECT_EQ(clock.jumps(), 0);
    clock.hear(stamp{50s + 20ms, start + 30ms, start + 31ms});
    EXPECT_EQ(clock.jumps(), 0);
    clock.hear(stamp{51s, start + 32ms, start + 33ms});
    EXPECT_EQ(clock.jumps(), 1);
}

// Goal: what is over stays over, though the next stamp of the same second says less by itself.
TEST(StoreClock, NewerStampsNarrowTheBounds) {
    store_clock clock{1s, 0s};
    clock.hear(stamp{100s, start, start});
    clock.hear(stamp{100s, start + 900ms, start + 900ms});
    EXPECT_EQ(clock.at(start + 900ms), (clock_bounds{100s + 900ms - 900us, 101s}));
    clock.hear(stamp{101s, start + 950ms, start + 960ms});
    EXPECT_EQ(clock.at(start + 960ms), (clock_bounds{101s, 101s + 60ms + 60us}));
}

TEST(StoreClock, AStampFromAheadOfNowIsTakenAsNow) {
    store_clock clock{1ms, 0s};
    clock.hear(stamp{100s, start + 2s, start + 1s});
    EXPECT_EQ(clock.at(start), (clock_bounds{100s, 100s + 1ms}));
}

}  // namespace
}  // namespace pawl::cas
