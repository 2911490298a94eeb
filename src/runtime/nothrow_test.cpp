// A store's failure as a value, over a store in memory.
#include <pawl/pawl.hpp>

#include "test_support/faults/world.hpp"

#include <gtest/gtest.h>

#include <new>
#include <type_traits>
#include <variant>

namespace pawl {
namespace {

using namespace std::chrono_literals;

constexpr lease_options plain{.ttl = 1min};

// What is taken for a lease by mistake does not compile.
using answer = decltype(std::declval<locks&>().try_acquire("k", plain, std::nothrow));
static_assert(!std::is_constructible_v<bool, answer>);

TEST(Nothrow, AFailureIsAnAnswerBesideTheOthers) {
    world one;
    auto a = one.open(), b = one.open();
    {
        auto mine = a.try_acquire("k", plain, std::nothrow);
        ASSERT_TRUE(std::holds_alternative<lease>(mine));
        EXPECT_TRUE(std::get<lease>(mine).valid());
        EXPECT_TRUE(std::holds_alternative<busy>(b.try_acquire("k", plain, std::nothrow)));
        EXPECT_TRUE(std::holds_alternative<busy>(b.acquire("k", plain, 20ms, std::nothrow)));
    }
    one.faults->fail_all = errc::denied;
    const auto tried = a.try_acquire("k", plain, std::nothrow);
    ASSERT_TRUE(std::holds_alternative<failure>(tried));
    EXPECT_EQ(std::get<failure>(tried).code, errc::denied);
    EXPECT_TRUE(std::holds_alternative<failure>(a.acquire("k", plain, 1s, std::nothrow)));
    EXPECT_TRUE(std::holds_alternative<failure>(a.acquire_with_reason("k", plain, std::nothrow)));
    EXPECT_EQ(a.inspect("k", std::nothrow).error().code, errc::denied);
    EXPECT_EQ(a.check_fence("r", fence_token{1}, std::nothrow).error().code, errc::denied);
    one.faults->fail_all = std::nullopt;
    EXPECT_TRUE(a.inspect("k", std::nothrow).value());
    EXPECT_TRUE(a.check_fence("r", fence_token{1}, std::nothrow).value().accepted);
}

TEST(Nothrow, AnOccurrenceThatIsDoneIsSaidSo) {
    world one;
    auto a = one.open();
    const lease_options due{.ttl = 1min, .occurrence = occurrence{1'000}};
    EXPECT_TRUE(std::holds_alternative<lease>(a.acquire("k", due, 10s, std::nothrow)));
    EXPECT_TRUE(std::holds_alternative<already_done>(a.acquire("k", due, 10s, std::nothrow)));
}

// A mistake is not a failure of the store.
TEST(Nothrow, AMistakeStillThrows) {
    world one;
    auto a = one.open();
    EXPECT_THROW((void)a.try_acquire("", plain, std::nothrow), option_error);
    EXPECT_THROW((void)a.try_acquire("k", {}, std::nothrow), option_error);
    EXPECT_THROW((void)a.inspect("", std::nothrow), option_error);
}

}  // namespace
}  // namespace pawl
