// The completion tokens of the `async_` calls: what they return, where their handlers run, and what
// becomes of a call whose handler goes.
#include <pawl/pawl.hpp>

#include "test_support/faults/journal_world.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using boost::asio::use_future;

constexpr lease_options once{.ttl = 1min, .occurrence = occurrence{1'700'000'000'000}};
constexpr lease_options plain{.ttl = 1min};

template <class T>
std::optional<errc> failure_of(std::future<T>& answer) {
    try {
        static_cast<void>(answer.get());
    } catch (const store_error& error) {
        return error.code();
    }
    return std::nullopt;
}

void wait_until_held(locks& by, std::string_view key) {
    for (;;) {
        const auto seen = by.inspect(key);
        if (seen && number(seen->holder) != 0) return;
        std::this_thread::yield();
    }
}

TEST(Completion, EachCallGivesAFuture) {
    journal_world one;
    auto a = one.open(), b = one.open();
    auto mine = a.async_try_acquire("k", plain, use_future).get();
    ASSERT_TRUE(mine);
    EXPECT_TRUE(mine->async_renew(use_future).get());
    const auto none = b.async_acquire("k", plain, 0ms, use_future).get();
    EXPECT_FALSE(none);
    const auto rejected = b.async_acquire_with_reason("k", plain, {}, use_future).get();
    EXPECT_TRUE(std::holds_alternative<busy>(rejected));
    EXPECT_EQ(b.async_inspect("k", use_future).get()->holder, mine->token());
    const auto checked =
        b.async_check_fence("r", mine->token(), fence_rule::reject_older, use_future).get();
    EXPECT_TRUE(checked.accepted);
    EXPECT_EQ(b.async_list("", "", 10, use_future).get().records.size(), 1u);
    EXPECT_FALSE(b.async_force_release("k", fence_token{1}, 0ms, use_future).get());
    EXPECT_TRUE(b.async_drain(10s, {}, use_future).get());
    EXPECT_TRUE(b.async_examine(use_future).get().findings.empty());
    EXPECT_EQ(mine->async_release(use_future).get(), release_outcome::released);
    EXPECT_EQ(a.async_try_acquire_slot("s", 2, plain, use_future).get().value().count(), 2u);
    const auto place = a.async_acquire_slot("s", 2, plain, 10s, use_future).get();
    EXPECT_TRUE(place);
    const std::vector<std::string> both{"x", "y"};
    const auto all = a.async_acquire_all(both, plain, 0ms, use_future).get();
    EXPECT_TRUE(all);
    const job work{.name = "j", .lease = plain, .body = [](const run&) {}};
    EXPECT_EQ(a.async_run(work, {}, use_future).get(), run_outcome::ran);
}

// What is wrong is thrown where the call is awaited, and not where it is made.
TEST(Completion, AMistakeComesWithTheAnswer) {
    journal_world one;
    auto a = one.open();
    auto no_key = a.async_inspect("", use_future);
    auto no_page = a.async_list("", "", 0, use_future);
    auto no_delay = a.async_force_release("k", fence_token{1}, -1ms, use_future);
    auto no_resource =
        a.async_check_fence("", fence_token{1}, fence_rule::reject_older, use_future);
    EXPECT_THROW(no_key.get(), option_error);
    EXPECT_THROW(no_page.get(), option_error);
    EXPECT_THROW(no_delay.get(), option_error);
    EXPECT_THROW(static_cast<void>(no_resource.get()), option_error);
}

TEST(Completion, ACallbackRunsOnItsExecutor) {
    journal_world one;
    auto a = one.open();
    boost::asio::io_context context;
    std::thread::id where;
    std::optional<lease> mine;
    a.async_acquire("k", plain, 1min,
                    boost::asio::bind_executor(
                        context, [&, unique = std::make_unique<int>(1)](
                                     const std::exception_ptr& error, acquired<lease> got) {
                            EXPECT_FALSE(error);
                            where = std::this_thread::get_id();
                            mine = std::move(got);
                        }));
    context.run();
    EXPECT_EQ(where, std::this_thread::get_id());
    EXPECT_TRUE(mine && mine->valid());
}

// It may block: here it calls back in.
TEST(Completion, ACallbackWithoutAnExecutorMayBlock) {
    journal_world one;
    auto a = one.open();
    std::promise<release_outcome> end;
    a.async_try_acquire("k", plain, [&](const std::exception_ptr&, acquired<lease> got) {
        const auto again = a.try_acquire("other", plain);
        EXPECT_TRUE(again);
        end.set_value(got->release());
    });
    EXPECT_EQ(end.get_future().get(), release_outcome::released);
}

TEST(Completion, DeferredStartsWhenItIsCalled) {
    journal_world one;
    auto a = one.open();
    auto later = a.async_try_acquire("k", plain, boost::asio::deferred);
    EXPECT_FALSE(a.inspect("k"));
    const auto mine = std::move(later)(use_future).get();
    EXPECT_TRUE(mine);
}

TEST(Completion, UseAwaitableIsTheCallWithoutAToken) {
    journal_world one;
    auto a = one.open();
    boost::asio::io_context context;
    const auto program = [&]() -> boost::asio::awaitable<bool> {
        auto mine = co_await a.async_acquire("k", plain, 1min, boost::asio::use_awaitable);
        co_return mine && mine->valid();
    };
    auto done = boost::asio::co_spawn(context, program(), use_future);
    context.run();
    EXPECT_TRUE(done.get());
}

TEST(Completion, AFailureIsTheHandlersError) {
    journal_world one;
    auto a = one.open();
    auto wrong = a.async_try_acquire("", plain, use_future);
    EXPECT_THROW(static_cast<void>(wrong.get()), option_error);
    auto unknown = a.async_acquire_with_reason("", plain, {}, use_future);
    EXPECT_THROW(static_cast<void>(unknown.get()), option_error);
}

TEST(Completion, TheEndOfLocksIsTold) {
    journal_world one;
    auto a = one.open();
    auto held = a.try_acquire("k", plain);
    std::optional<locks> b{one.open()};
    auto waiting = b->async_acquire("k", plain, 1h, use_future);
    while (a.inspect("k")->waiters.value_or(0) == 0) std::this_thread::yield();
    b.reset();
    EXPECT_EQ(failure_of(waiting), errc::closed);
}

TEST(Completion, ASignalGivesTheClaimUpWithItsOccurrence) {
    journal_world one;
    auto a = one.open(), b = one.open();
    one.faults->answers_held = true;
    boost::asio::io_context context;
    boost::asio::cancellation_signal signal;
    boost::system::error_code end;
    const auto handler = [&](const std::exception_ptr& error, const acquired<lease>& got) {
        EXPECT_FALSE(got);
        try {
            std::rethrow_exception(error);
        } catch (const boost::system::system_error& told) {
            end = told.code();
        }
    };
    a.async_acquire("k", once, 0ms,
                    boost::asio::bind_cancellation_slot(
                        signal.slot(), boost::asio::bind_executor(context, handler)));
    std::thread program{[&] { context.run(); }};
    wait_until_held(b, "k");
    boost::asio::post(context, [&] { signal.emit(boost::asio::cancellation_type::terminal); });
    program.join();
    EXPECT_EQ(end, boost::asio::error::operation_aborted);
    one.faults->answers_held = false;
    EXPECT_TRUE(a.drain(10s));
    EXPECT_TRUE(b.try_acquire("k", once));
}

TEST(Completion, ASlotWithoutAnExecutorIsAMistake) {
    journal_world one;
    auto a = one.open();
    boost::asio::cancellation_signal signal;
    const auto handler = [](const std::exception_ptr&, const acquired<lease>&) {};
    EXPECT_THROW(a.async_try_acquire("k", plain,
                                     boost::asio::bind_cancellation_slot(signal.slot(), handler)),
                 std::logic_error);
    EXPECT_FALSE(a.inspect("k"));
}

TEST(Completion, AContextThatGoesTakesItsHandlersAlong) {
    journal_world one;
    auto a = one.open(), b = one.open();
    one.faults->answers_held = true;
    auto context = std::make_unique<boost::asio::io_context>();
    bool called = false;
    auto owned = std::make_shared<int>(1);
    const std::weak_ptr<int> watched{owned};
    a.async_acquire(
        "k", once, 0ms,
        boost::asio::bind_executor(
            *context, [&called, owned = std::move(owned)](
                          const std::exception_ptr&, const acquired<lease>&) { called = true; }));
    std::thread program{[&] { context->run(); }};
    wait_until_held(b, "k");
    context->stop();
    program.join();
    context.reset();
    EXPECT_TRUE(watched.expired());
    EXPECT_FALSE(called);
    one.faults->answers_held = false;
    EXPECT_TRUE(a.drain(10s));
    EXPECT_TRUE(b.try_acquire("k", once));
}

}  // namespace
}  // namespace pawl
