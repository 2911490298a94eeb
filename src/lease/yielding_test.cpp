#include "lease/yielding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

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
            other_has_it();
        }
        return held_back;
    }
    void other_has_it() { mine.refused(1, holder = fence_token{number(holder) + 1}); }
    nanos has_it() { return claim(true); }
    nanos is_refused() { return claim(false); }

    yielding mine;
    fence_token holder{};
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

TEST_F(Yielding, EndsWhereNoOtherCallerWantsItAnyMore) {
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
    other_has_it();
    EXPECT_EQ(has_it(), 0ns);
    EXPECT_GT(is_refused(), 0ns);
}

TEST_F(Yielding, ThoseWhoHaveWaitedLongerGoFirst) {
    is_refused();
    EXPECT_EQ(mine.after_push(round_trip), 0ns);
    has_it();
    EXPECT_GT(mine.after_push(round_trip), round_trip);
    other_has_it();
    EXPECT_EQ(mine.after_push(round_trip), 0ns);
}

TEST_F(Yielding, ACallerBehindManyStillHearsOfItsTurns) {
    for (std::size_t other = 1; other <= 30; ++other) mine.refused(other, fence_token{other});
    has_it();
    EXPECT_LT(mine.after_push(round_trip), 2ms);
}

// Eight processes, of each of which others wait all the time: whoever claims first after a release
// has the key, and all the others hear so.
class InTurns : public testing::Test {
protected:
    static constexpr std::size_t processes = 8;
    struct process {
        yielding next{};
        int had = 0;
        int waited = 0;  // turns of others since
        int longest = 0;
    };

    InTurns() {
        all[0].next.granted(now);
        for (std::size_t i = 1; i < processes; ++i) all[i].next.refused(1, fence_token{1});
    }

    // Which process hears of a release how late.
    template <class Heard>
    void take_turns(int turns, Heard heard) {
        std::size_t holder = 0;
        for (int turn = 2; turn < turns; ++turn) {
            now += 5ms;
            all[holder].next.released(now);
            std::array<nanos, processes> at;
            for (std::size_t i = 0; i < processes; ++i)
                at[i] = i == holder ? all[i].next.before_claim(now, round_trip)
                                    : heard(i) + all[i].next.after_push(round_trip);
            const auto first = static_cast<std::size_t>(std::ranges::min_element(at) - at.begin());
            now += at[first] + round_trip;
            for (std::size_t i = 0; i < processes; ++i) {
                if (i == first)
                    has_it(all[i]);
                else
                    waits(all[i], first + 1, fence_token{static_cast<std::uint64_t>(turn)});
            }
            holder = first;
        }
    }

    void has_it(process& one) {
        one.next.granted(now);
        ++one.had;
        one.waited = 0;
    }
    void waits(process& one, std::size_t owner, fence_token holder) {
        one.next.refused(owner, holder);
        one.longest = std::max(one.longest, ++one.waited);
    }

    std::array<process, processes> all;
    instant now{1h};
};

TEST_F(InTurns, WhereOneOrAnotherIsFirst) {
    std::minstd_rand random;
    take_turns(8'000, [&](std::size_t) {
        return nanos{round_trip * 2} + nanos{static_cast<int>(random() % 1'000'000)};
    });
    for (const auto& one : all) {
        EXPECT_GT(one.had, 900);
        EXPECT_LT(one.longest, 60);
    }
}

TEST_F(InTurns, WhereTheSameOneAlwaysHearsFirst) {
    take_turns(8'000,
               [](std::size_t i) { return nanos{round_trip * 2 + 60us * static_cast<int>(i)}; });
    for (const auto& one : all) {
        EXPECT_GT(one.had, 900);
        EXPECT_LT(one.longest, 60);
    }
}

TEST_F(InTurns, WhereOneIsSlowerThanAllOthersByMoreThanTheyWaitForIt) {
    std::minstd_rand random;
    take_turns(8'000, [&](std::size_t i) {
        return nanos{round_trip * 2} +
               nanos{static_cast<int>(random() % (i == 7 ? 3'000'000 : 300'000))};
    });
    EXPECT_GT(all[7].had, 200);
    EXPECT_LT(all[7].longest, 150);
}

}  // namespace
}  // namespace pawl::leasing
