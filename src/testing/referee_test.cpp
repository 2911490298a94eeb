#include <pawl/pawl.hpp>
#include <pawl/testing.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

namespace pawl::testing {
namespace {

using namespace std::chrono_literals;

constexpr lease_options plain{.ttl = 30s};

TEST(Referee, WorkThatFollowsOtherWorkIsNoFault) {
    world one;
    referee sees;
    auto a = one.open();
    for (int i = 0; i < 3; ++i) {
        const auto lease = a.acquire("k", plain, 1s);
        const auto elsewhere = a.acquire("other", plain, 1s);
        const auto work = sees.begin(*lease);
        const auto beside = sees.begin(*elsewhere);
    }
    EXPECT_TRUE(sees.faults().empty());
    EXPECT_NO_THROW(sees.check());
}

// A body has no lease to show, only the key and the token.
TEST(Referee, TheWorkOfABodyIsSeenByKeyAndToken) {
    world one;
    referee sees;
    auto a = one.open();
    EXPECT_EQ(a.run({.name = "k",
                     .lease = plain,
                     .body =
                         [&](const run& now) {
                             const auto work = sees.begin(now.key, now.token);
                             const auto twice = sees.begin(now.key, now.token);
                         }}),
              run_outcome::ran);
    ASSERT_EQ(sees.faults().size(), 1U);
    const auto work = sees.begin("k", fence_token{1});
    EXPECT_EQ(sees.faults().size(), 2U) << "its token is too low";
}

// A program that goes on although its lease is over is found out.
TEST(Referee, WorkThatOverlapsIsAFault) {
    world one;
    referee sees;
    auto a = one.open(), b = one.open();
    const auto late = a.try_acquire("k", plain);
    auto work = sees.begin(*late);
    const auto moved = std::move(work);
    one.freeze(a);
    one.advance(31s);
    const auto next = b.try_acquire("k", plain);
    ASSERT_TRUE(next);
    const auto other = sees.begin(*next);
    ASSERT_EQ(sees.faults().size(), 1U);
    EXPECT_EQ(sees.faults().front(), "work under 'k' with token " +
                                         std::to_string(number(next->token())) +
                                         " begins while other work under this key is going on");
    EXPECT_THROW(sees.check(), std::logic_error);
}

TEST(Referee, WorkThatBeginsLateIsAFault) {
    world one;
    referee sees;
    auto a = one.open(), b = one.open();
    const auto late = a.try_acquire("k", plain);
    one.freeze(a);
    one.advance(31s);
    const auto next = b.try_acquire("k", plain);
    {
        const auto work = sees.begin(*next);
    }
    const auto work = sees.begin(*late);
    // Its lease is over, and its token is old.
    EXPECT_EQ(sees.faults().size(), 2U);
}

}  // namespace
}  // namespace pawl::testing
