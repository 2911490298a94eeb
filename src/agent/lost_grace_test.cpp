#include "agent/lost_grace.hpp"

#include "net/loop.hpp"

#include <gtest/gtest.h>

namespace pawl::agent {
namespace {

using namespace std::chrono_literals;

constexpr fence_token mine{7};

millis grace_of(result<std::optional<record>> answer) {
    net::loop loop;
    const auto read = [&](std::string key) -> async<std::optional<record>> {
        EXPECT_EQ(key, "k");
        co_return answer;
    };
    auto asking = grace_after_loss(read, "k", mine, 5s);
    return loop.wait_for(std::move(asking));
}

std::optional<record> held_by(fence_token token, millis remaining) {
    record seen;
    seen.key = "k";
    seen.holder = token;
    seen.remaining = remaining;
    return seen;
}

// Where another may run already, there is no time to say goodbye.
TEST(LostGrace, ThereIsNoneWhereAnotherHoldsTheKeyOrMay) {
    EXPECT_EQ(grace_of(held_by(fence_token{8}, 30s)), 0s);
    EXPECT_EQ(grace_of(held_by({}, 0s)), 0s);
    EXPECT_EQ(grace_of(std::optional<record>{}), 0s);
}

// Taken by force with a delay: until shortly before the key is free again, and never more than the
// command would have had anyhow.
TEST(LostGrace, ItEndsBeforeTheKeyIsFree) {
    const auto left = grace_of(held_by({}, 2s));
    EXPECT_LT(left, 2s);
    EXPECT_GT(left, 0s);
    EXPECT_EQ(grace_of(held_by({}, 60s)), 5s);
}

// Nothing is known, as before the question.
TEST(LostGrace, ItIsTheCommandsOwnWhileTheKeyIs) { EXPECT_EQ(grace_of(held_by(mine, 30s)), 5s); }

// Another process may have it, and be at work.
TEST(LostGrace, ThereIsNoneWhereTheStoreDoesNotAnswer) {
    EXPECT_EQ(grace_of(failure{errc::unreachable, "away"}), 0s);
}

}  // namespace
}  // namespace pawl::agent
