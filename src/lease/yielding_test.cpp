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
    // One claim that waits, and is granted or rejected after it was held back.
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
    void other_has_it() { mine.rejected(1, holder = fence_token{number(holder) + 1}, now); }
    nanos has_it() { return claim(true); }
    nanos is_rejected() { return claim(false); }

    yielding mine;
    fence_token holder{};
    instant now{1h};
};

TEST_F(Yielding, WhoHasNotHadTheKeyClaimsAtOnce) {
    EXPECT_EQ(is_rejected(), 0ns);
    EXPECT_EQ(is_rejected(), 0ns);
    EXPECT_EQ(has_it(), 0ns);
}

TEST_F(Yielding, WhoHasHadItHoldsBackForOthersThatWantIt) {
    is_rejected();
    has_it();
    EXPECT_GE(is_rejected(), 3ms + 2 * round_trip);
    // Another one has it now, and all wait alike.
    EXPECT_EQ(has_it(), 0ns);
    EXPECT_GT(is_rejected(), 0ns);
}

TEST_F(Yielding, WhoComesBackLaterClaimsAtOnce) {
    is_rejected();
    has_it();
    now += 1s;
    EXPECT_EQ(has_it(), 0ns);
}

TEST_F(Yielding, OthersThatAreSlowAreGivenMoreTime) {
    is_rejected();
    has_it();
    const auto first = has_it();
    const auto second = has_it();
    EXPECT_GT(second, first);
    EXPECT_GT(is_rejected(), second);
    has_it();
    // Less again where they are quicker than thought.
    const auto later = is_rejected();
    has_it();
    EXPECT_LT(is_rejected(), later);
}

TEST_F(Yielding, EndsWhereNoOtherCallerWantsItAnyMore) {
    is_rejected();
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
    EXPECT_GT(is_rejected(), 0ns);
}

TEST_F(Yielding, ThoseWhoHaveWaitedLongerGoFirst) {
    is_rejected();
    EXPECT_EQ(mine.after_push(round_trip), 0ns);
    has_it();
    EXPECT_GT(mine.after_push(round_trip), round_trip);
    other_has_it();
    EXPECT_EQ(mine.after_push(round_trip), 0ns);
}

TEST_F(Yielding, ACallerBehindManyStillHearsOfItsTurns) {
    for (std::size_t other = 1; other <= 30; ++other) mine.rejected(other, fence_token{other}, now);
    has_it();
    EXPECT_LT(mine.after_push(round_trip), 2ms);
}

// Where the store pushes nothing.
class YieldingByLooks : public testing::Test {
protected:
    static constexpr nanos poll = 1s;

    nanos before_claim() { return mine.before_claim(now, round_trip, poll); }
    void has_it_for(nanos work) {
        mine.granted(now);
        now += work;
        mine.released(now);
    }
    void other_has_it() { mine.rejected(1, holder = fence_token{number(holder) + 1}, now); }
    void is_still_rejected() { mine.rejected(1, holder, now); }

    yielding mine;
    fence_token holder{};
    instant now{1h};
};

TEST_F(YieldingByLooks, TheHolderLetsTheOthersLookAfterItsTurn) {
    other_has_it();
    has_it_for(5ms);
    EXPECT_EQ(before_claim(), 0ns);
    while (before_claim() == 0ns) has_it_for(5ms);
    // Each of them has looked once by then.
    EXPECT_GT(before_claim(), poll);
}

TEST_F(YieldingByLooks, WorkThatTakesLongIsATurn) {
    other_has_it();
    has_it_for(5s);
    EXPECT_GT(before_claim(), poll);
}

TEST_F(YieldingByLooks, AKeyThatPassesQuicklyIsLookedAtMoreOften) {
    other_has_it();
    EXPECT_EQ(mine.until_next_look(now, poll), poll);
    now += poll;
    other_has_it();
    const auto soon = mine.until_next_look(now, poll);
    EXPECT_LE(soon, poll / 8);
    EXPECT_GE(soon, poll / 16);
}

TEST_F(YieldingByLooks, AKeyThatIsHeldForLongIsLookedAtMoreSeldom) {
    other_has_it();
    now += poll;
    other_has_it();
    int looks = 0;
    nanos longest{0};
    for (const auto begun = now; now < begun + 1min; ++looks) {
        longest = mine.until_next_look(now, poll);
        now += longest;
        is_still_rejected();
    }
    EXPECT_EQ(longest, poll);
    EXPECT_LT(looks, 150);
}

TEST_F(YieldingByLooks, ALongHolderThatCameUnseenIsLookedAtAtItsPace) {
    other_has_it();
    now += 1h;
    other_has_it();
    EXPECT_EQ(mine.until_next_look(now, poll), poll);
}

TEST_F(YieldingByLooks, AloneItCostsLittle) {
    nanos held_back{0};
    const auto begun = now;
    while (now < begun + 10min) {
        const auto rest = before_claim();
        held_back += rest;
        now += rest;
        has_it_for(1ms);
    }
    EXPECT_GT(held_back, 0ns);
    EXPECT_LT(held_back, (now - begun) / 30);
}

TEST_F(YieldingByLooks, AProbeIsLongerThanTheLookOfACallerThatWaits) {
    while (now < instant{2h}) {
        now += before_claim();
        has_it_for(1ms);
    }
    const auto came = now;
    while (before_claim() == 0ns) has_it_for(1ms);
    EXPECT_LE(now - came, 5s + 1ms);
    yielding other;
    other.rejected(1, fence_token{1}, now - poll);
    other.rejected(1, fence_token{2}, now);
    EXPECT_GT(before_claim(), other.until_next_look(now, poll) * 11 / 10 + 2 * round_trip);
}

// Eight processes, of each of which others wait all the time: the one that claims first after a
// release has the key, and all the others hear so.
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
        for (std::size_t i = 1; i < processes; ++i) all[i].next.rejected(1, fence_token{1}, now);
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
        one.next.rejected(owner, holder, now);
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
