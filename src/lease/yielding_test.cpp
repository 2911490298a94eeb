#include "lease/yielding.hpp"

#include <gtest/gtest.h>

namespace pawl::leasing {
namespace {

using namespace std::chrono_literals;

constexpr nanos round_trip = 100us;

class Yielding : public testing::Test {
protected:
    // One claim that waits, and is granted or refused after it was held back.
    nanos claim(bool granted) {
        const auto held_back = mine.before_claim(now, round_trip);
        now += held_back + round_trip;
        if (granted) {
            mine.granted(now);
            mine.released(now);
        } else {
            mine.refused();
        }
        return held_back;
    }
    nanos has_it() { return claim(true); }
    nanos is_refused() { return claim(false); }

    yielding mine;
    instant now{1h};
};

TEST_F(Yielding, WhoHasNotHadTheKeyClaimsAtOnce) {
    EXPECT_EQ(is_refused(), 0ns);
    EXPECT_EQ(is_refused(), 0ns);
    EXPECT_EQ(has_it(), 0ns);
}

TEST_F(Yielding, WhoHasHadItHoldsBackForOthersThatWantIt) {
    is_refused();
    has_it();
    EXPECT_GE(is_refused(), 3ms + 2 * round_trip);
    // Another one has it now, and all wait alike.
    EXPECT_EQ(has_it(), 0ns);
    EXPECT_GT(is_refused(), 0ns);
}

TEST_F(Yielding, WhoComesBackLaterClaimsAtOnce) {
    is_refused();
    has_it();
    now += 1s;
    EXPECT_EQ(has_it(), 0ns);
}

TEST_F(Yielding, OthersThatAreSlowAreGivenMoreTime) {
    is_refused();
    has_it();
    const auto first = has_it();
    const auto second = has_it();
    EXPECT_GT(second, first);
    EXPECT_GT(is_refused(), second);
    has_it();
    // Less again where they are quicker than thought.
    const auto later = is_refused();
    has_it();
    EXPECT_LT(is_refused(), later);
}

TEST_F(Yielding, EndsWhereNobodyElseWantsItAnyMore) {
    is_refused();
    has_it();
    int held_back = 0;
    for (int i = 0; i < 50; ++i) held_back += has_it() > 0ns ? 1 : 0;
    EXPECT_EQ(held_back, 4);
}

TEST_F(Yielding, AloneItCostsLittle) {
    nanos held_back{0};
    const auto begun = now;
    while (now < begun + 60s) {
        held_back += has_it();
        now += 1ms;
    }
    EXPECT_GT(held_back, 0ns);
    EXPECT_LT(held_back, (now - begun) / 100);
}

TEST_F(Yielding, ANewcomerGetsItSoon) {
    for (int i = 0; i < 60'000; ++i) {
        has_it();
        now += 1ms;
    }
    // However long it has had the key alone.
    const auto came = now;
    while (mine.before_claim(now, round_trip) == 0ns) {
        mine.granted(now);
        now += 1ms;
        mine.released(now);
    }
    EXPECT_LE(now - came, 500ms + 1ms);
    mine.refused();
    EXPECT_EQ(has_it(), 0ns);
    EXPECT_GT(is_refused(), 0ns);
}

// Eight processes, of each of which others wait all the time: a push takes a round trip, a claim
// another, and who claims first has it.
TEST_F(Yielding, ProcessesThatAllWantItHaveItInTurns) {
    struct process {
        yielding next{};
        int had = 0;
    };
    std::vector<process> all(8);
    std::size_t holder = 0;
    all[0].next.granted(now);
    for (auto& one : all)
        if (&one != &all[0]) one.next.refused();
    std::uint32_t random = 1;
    for (int grants = 0; grants < 8'000; ++grants) {
        now += 5ms;
        all[holder].next.released(now);
        // Of those that hear of the release some one is first.
        random = random * 1'664'525 + 1'013'904'223;
        auto first = holder;
        auto at = all[holder].next.before_claim(now, round_trip);
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (i == holder) continue;
            const auto heard = round_trip * 2 + nanos{(random >> (i * 3)) % 1'000 * 1'000};
            if (heard < at) {
                at = heard;
                first = i;
            }
        }
        now += at;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (i == first) {
                if (i != holder) static_cast<void>(all[i].next.before_claim(now, round_trip));
                all[i].next.granted(now);
            } else {
                if (i != holder) static_cast<void>(all[i].next.before_claim(now, round_trip));
                all[i].next.refused();
            }
        }
        holder = first;
        ++all[first].had;
    }
    for (const auto& one : all) {
        EXPECT_GT(one.had, 500);
        EXPECT_LT(one.had, 2'000);
    }
}

}  // namespace
}  // namespace pawl::leasing
