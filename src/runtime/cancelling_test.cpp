// Every way in which an Asio program leaves what it awaits: Asio's cancellation, the end of its
// context, the end of `locks`. What was asked for meanwhile is given back, and nothing hangs.
#include <pawl/pawl.hpp>

#include "runtime/bodies.hpp"
#include "test_support/faults/eventually.hpp"
#include "test_support/faults/journal_world.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using boost::asio::awaitable;

constexpr lease_options once{.ttl = 1min, .occurrence = occurrence{1'700'000'000'000}};

void wait_until_held(locks& by, std::string_view key) {
    EXPECT_TRUE(eventually([&] {
        const auto seen = by.inspect(key);
        return seen && number(seen->holder) != 0;
    }));
}

void wait_until_awaited(locks& by, std::string_view key) {
    EXPECT_TRUE(eventually([&] { return by.inspect(key)->waiters.value_or(0) > 0; }));
}

// Cancelled from the outside, as asio's own operations are.
struct signalled {
    boost::asio::cancellation_signal signal;
    std::exception_ptr raised;
    std::atomic<bool> over{false};

    template <class Work>
    void spawn(const boost::asio::any_io_executor& where, Work work) {
        boost::asio::co_spawn(where, std::move(work),
                              boost::asio::bind_cancellation_slot(
                                  signal.slot(), [this](const std::exception_ptr& error) {
                                      raised = error;
                                      over = true;
                                  }));
    }
    void cancel(const boost::asio::any_io_executor& where) {
        boost::asio::post(where, [this] { signal.emit(boost::asio::cancellation_type::terminal); });
    }
    bool was_closed() const {
        try {
            if (raised) std::rethrow_exception(raised);
        } catch (const store_error& error) {
            return error.code() == errc::closed;
        }
        return false;
    }
    bool was_aborted() const {
        try {
            if (raised) std::rethrow_exception(raised);
        } catch (const boost::system::system_error& error) {
            return error.code() == boost::asio::error::operation_aborted;
        }
        return false;
    }
};

awaitable<void> ask_for(locks& from, lease_options how, millis wait) {
    auto asking = from.async_acquire("k", how, wait);
    const auto mine = co_await std::move(asking);
}

// The grant is on its way to a caller who has gone: none ran its occurrence.
TEST(Cancelling, AClaimUnderWayIsGivenBackWithItsOccurrence) {
    journal_world one;
    auto a = one.open(), b = one.open();
    one.faults->answers_held = true;
    boost::asio::io_context context;
    signalled call;
    call.spawn(context.get_executor(), ask_for(a, once, 0ms));
    std::thread program{[&] { context.run(); }};
    wait_until_held(b, "k");
    call.cancel(context.get_executor());
    program.join();
    EXPECT_TRUE(call.was_aborted());
    one.faults->answers_held = false;
    EXPECT_TRUE(a.drain(10s));
    EXPECT_TRUE(b.try_acquire("k", once));
}

TEST(Cancelling, AWaiterLeavesAtOnceAndTakesNothing) {
    journal_world one;
    auto a = one.open(), b = one.open();
    auto held = b.try_acquire("k", {.ttl = 1min});
    boost::asio::io_context context;
    signalled call;
    call.spawn(context.get_executor(), ask_for(a, once, 1h));
    std::thread program{[&] { context.run(); }};
    wait_until_awaited(b, "k");
    call.cancel(context.get_executor());
    program.join();
    EXPECT_TRUE(call.was_aborted());
    EXPECT_TRUE(a.drain(10s));
    held->release();
    EXPECT_TRUE(b.try_acquire("k", once));
}

// Goal: what is given back after a cancellation is waited for by drain(), wherever the grant was
// when its caller left. Method: callers that leave as soon as they have asked, so that some grants
// are made before, and some after.
TEST(Cancelling, ADrainWaitsForWhatComesBack) {
    journal_world one;
    auto a = one.open(), b = one.open();
    for (int i = 0; i < 200; ++i) {
        boost::asio::io_context context;
        signalled call;
        const auto key = "key-" + std::to_string(i);
        const auto work = [&]() -> awaitable<void> {
            auto asking = a.async_acquire(key, lease_options{.ttl = 1min}, 1min);
            const auto mine = co_await std::move(asking);
        };
        call.spawn(context.get_executor(), work());
        context.poll();
        for (int turn = 0; turn < i % 20; ++turn) std::this_thread::yield();
        call.cancel(context.get_executor());
        context.run();
        EXPECT_TRUE(a.drain(30s));
        EXPECT_TRUE(b.try_acquire(key, {.ttl = 1min})) << i;
    }
}

// Goal: a coroutine that has outlived its cancellation cleans up as any other. Method: it is
// cancelled while it waits; what it awaits afterwards is served.
TEST(Cancelling, WhatIsAwaitedAfterwardsIsServed) {
    journal_world one;
    auto a = one.open(), b = one.open();
    auto held = b.try_acquire("k", {.ttl = 1min});
    boost::asio::io_context context;
    signalled call;
    int aborted = 0;
    std::optional<release_outcome> released;
    bool acquired_again = false;
    const auto work = [&]() -> awaitable<void> {
        co_await boost::asio::this_coro::throw_if_cancelled(false);
        const lease_options plain{.ttl = 1min};
        auto mine = co_await a.async_try_acquire("mine", plain);
        try {
            auto asking = a.async_acquire("k", plain, 1h);
            const auto none = co_await std::move(asking);
        } catch (const boost::system::system_error&) {
            ++aborted;
        }
        if (mine) released = co_await mine->async_release();
        const auto again = co_await a.async_try_acquire("mine", plain);
        acquired_again = again.has_value();
    };
    call.spawn(context.get_executor(), work());
    std::thread program{[&] { context.run(); }};
    wait_until_awaited(b, "k");
    call.cancel(context.get_executor());
    program.join();
    EXPECT_EQ(aborted, 1);
    EXPECT_FALSE(call.raised);
    EXPECT_EQ(released, release_outcome::released);
    EXPECT_TRUE(acquired_again);
}

// Coroutines of pawl's own loop are cancelled in the same way.
TEST(Cancelling, OnTheLoopItselfToo) {
    journal_world one;
    auto a = one.open(), b = one.open();
    one.faults->answers_held = true;
    signalled call;
    call.spawn(a.get_executor(), ask_for(a, once, 0ms));
    wait_until_held(b, "k");
    call.cancel(a.get_executor());
    EXPECT_TRUE(eventually([&] { return call.over.load(); }));
    EXPECT_TRUE(call.was_aborted());
    one.faults->answers_held = false;
    EXPECT_TRUE(a.drain(10s));
    EXPECT_TRUE(b.try_acquire("k", once));
}

// Many programs race with their own deadline, around the moment of the answer.
TEST(Cancelling, ARaceWithADeadlineLeavesNoKeyBehind) {
    using namespace boost::asio::experimental::awaitable_operators;
    journal_world one;
    auto a = one.open(), b = one.open();
    boost::asio::io_context context;
    std::atomic<int> won{0};
    const auto race = [&](std::string key, std::chrono::microseconds longest) -> awaitable<void> {
        boost::asio::steady_timer deadline{context, longest};
        const lease_options plain{.ttl = 1min};
        auto asking =
            a.async_acquire(key, plain, 1min) || deadline.async_wait(boost::asio::use_awaitable);
        const auto first = co_await std::move(asking);
        if (first.index() == 0 && std::get<0>(first)) ++won;
    };
    for (int i = 0; i < 500; ++i)
        boost::asio::co_spawn(context,
                              race("key-" + std::to_string(i), std::chrono::microseconds{i}),
                              boost::asio::detached);
    context.run();
    for (int i = 0; i < 500; ++i)
        EXPECT_TRUE(b.acquire("key-" + std::to_string(i), {.ttl = 1min}, 10s)) << i;
}

TEST(Cancelling, AContextThatGoesGivesItsClaimsUp) {
    journal_world one;
    auto a = one.open(), b = one.open();
    auto held = b.try_acquire("other", {.ttl = 1min});
    one.faults->answers_held = true;
    auto context = std::make_unique<boost::asio::io_context>();
    boost::asio::co_spawn(*context, ask_for(a, once, 0ms), boost::asio::detached);
    const auto wait = [&]() -> awaitable<void> {
        auto asking = a.async_acquire("other", lease_options{.ttl = 1min}, 1h);
        const auto mine = co_await std::move(asking);
    };
    boost::asio::co_spawn(*context, wait(), boost::asio::detached);
    std::thread program{[&] { context->run(); }};
    wait_until_held(b, "k");
    context->stop();
    program.join();
    context.reset();
    one.faults->answers_held = false;
    EXPECT_TRUE(a.drain(10s));
    EXPECT_TRUE(b.try_acquire("k", once));
    held->release();
    EXPECT_TRUE(b.acquire("other", {.ttl = 1min}, 10s));
}

// A body may use what its program owns: it has returned when the context is gone.
TEST(Cancelling, AContextThatGoesWaitsForItsRuns) {
    journal_world one;
    auto a = one.open();
    auto context = std::make_unique<boost::asio::io_context>();
    std::latch running{1};
    std::string id;
    std::atomic<bool> returned{false};
    const job patient{.name = "k", .lease = {.ttl = 1min}, .body = [&](const run& now) {
                          id = now.id;
                          running.count_down();
                          wait_for_stop(now.stop);
                          returned = true;
                      }};
    boost::asio::co_spawn(*context, a.async_run(patient), boost::asio::detached);
    std::thread program{[&] { context->run(); }};
    running.wait();
    context->stop();
    program.join();
    context.reset();
    EXPECT_TRUE(returned);
    EXPECT_EQ(one.run_of(id).status, run_status::cancelled);
    EXPECT_TRUE(a.try_acquire("k", {.ttl = 1min}));
}

// Its row would say `started` for ever.
TEST(Cancelling, ARunWhoseBeginningIsUnderWayIsWrittenToItsEnd) {
    journal_world one;
    auto a = one.open();
    one.journal_faults->begin_delay = 2s;
    boost::asio::io_context context;
    signalled call;
    const job nightly{.name = "k", .lease = {.ttl = 1min}, .body = [](const run&) {}};
    const auto work = [&]() -> awaitable<void> {
        auto running = a.async_run(nightly);
        co_await std::move(running);
    };
    one.journal_faults->on_begun = [&] { call.cancel(context.get_executor()); };
    call.spawn(context.get_executor(), work());
    context.run();
    const auto rows = [&] {
        return one.ask([&] { return one.records->list_runs(run_filter{}, {}, 10); }).records;
    };
    ASSERT_EQ(rows().size(), 1U);
    EXPECT_EQ(rows().front().status, run_status::skipped);
    EXPECT_TRUE(a.drain(10s));
    EXPECT_TRUE(a.try_acquire("k", {.ttl = 1min}));
}

TEST(Cancelling, ALeaderIsToldAndWaitedFor) {
    journal_world one;
    auto a = one.open();
    boost::asio::io_context context;
    signalled call;
    std::latch leading{1};
    std::atomic<bool> returned{false};
    const auto lead = [&]() -> awaitable<void> {
        auto leading_on = a.async_lead("k", {.ttl = 1min}, {}, [&](const term& now) {
            leading.count_down();
            wait_for_stop(now.stop);
            returned = true;
        });
        co_await std::move(leading_on);
    };
    call.spawn(context.get_executor(), lead());
    std::thread program{[&] { context.run(); }};
    leading.wait();
    call.cancel(context.get_executor());
    program.join();
    EXPECT_TRUE(returned);
    EXPECT_TRUE(a.try_acquire("k", {.ttl = 1min}));
}

TEST(Cancelling, LocksThatGoEndWhatIsAwaited) {
    journal_world one;
    auto b = one.open();
    auto held = b.try_acquire("k", {.ttl = 1min});
    boost::asio::io_context context;
    auto a = std::make_unique<locks>(one.open());
    signalled call;
    call.spawn(context.get_executor(), ask_for(*a, {.ttl = 1min}, 1h));
    std::thread program{[&] { context.run(); }};
    wait_until_awaited(b, "k");
    a.reset();
    program.join();
    EXPECT_TRUE(call.was_closed());
}

// Its caller is in another thread, and knows nothing of the end.
TEST(Cancelling, LocksThatGoEndACallThatBlocks) {
    journal_world one;
    auto b = one.open();
    auto held = b.try_acquire("k", {.ttl = 1min});
    auto a = std::make_unique<locks>(one.open());
    std::optional<errc> ended_with;
    std::thread waiter{[&, &where = *a] {
        try {
            const auto mine = where.acquire("k", {.ttl = 1min}, 1h);
        } catch (const store_error& error) {
            ended_with = error.code();
        }
    }};
    wait_until_awaited(b, "k");
    a.reset();
    waiter.join();
    EXPECT_EQ(ended_with, errc::closed);
    held->release();
    EXPECT_TRUE(b.try_acquire("k", {.ttl = 1min}));
}

// A leader and a run on threads of their program are told to stop, and waited for.
TEST(Cancelling, LocksThatGoEndBodiesOnTheCallersThread) {
    journal_world one;
    auto a = std::make_unique<locks>(one.open());
    std::latch both_run{2};
    std::atomic<int> returned{0};
    std::thread leader{[&, &where = *a] {
        where.lead("leader", {.ttl = 1min}, {}, [&](const term& now) {
            both_run.count_down();
            wait_for_stop(now.stop);
            ++returned;
        });
    }};
    const job patient{.name = "k", .lease = {.ttl = 1min}, .body = [&](const run& now) {
                          both_run.count_down();
                          wait_for_stop(now.stop);
                          ++returned;
                      }};
    std::thread runner{[&, &where = *a] { where.run(patient); }};
    both_run.wait();
    a.reset();
    EXPECT_EQ(returned, 2);
    leader.join();
    runner.join();
    auto b = one.open();
    EXPECT_TRUE(b.try_acquire("k", {.ttl = 1min}));
    EXPECT_TRUE(b.try_acquire("leader", {.ttl = 1min}));
}

// The answer is on its way, and waits for its turn, when its caller is cancelled.
TEST(Cancelling, AnAnswerThatComesTooLateIsGivenBack) {
    journal_world one;
    auto a = one.open(), b = one.open();
    boost::asio::io_context context;
    signalled call;
    call.spawn(context.get_executor(), ask_for(a, once, 0ms));
    boost::asio::post(context, [&] {
        wait_until_held(b, "k");
        // Long enough for the answer to be queued, in the turn after the grant.
        std::this_thread::sleep_for(100ms);
        call.signal.emit(boost::asio::cancellation_type::terminal);
    });
    context.run();
    EXPECT_TRUE(call.was_aborted());
    EXPECT_TRUE(b.acquire("k", once, 10s));
}

// Another call has come to share the lease before its answer was dropped.
TEST(Cancelling, WhatAnotherCallSharesIsNotGivenBack) {
    journal_world one;
    auto a = one.open(), b = one.open();
    constexpr lease_options how{.ttl = 1min, .reentrancy = reentrancy::instance};
    auto context = std::make_unique<boost::asio::io_context>();
    boost::asio::co_spawn(*context, ask_for(a, how, 0ms), boost::asio::detached);
    std::optional<lease> shared;
    // In the context's only thread, so that the answer waits behind this.
    boost::asio::post(*context, [&] {
        wait_until_held(b, "k");
        shared = a.try_acquire("k", how);
        context->stop();
    });
    context->run();
    context.reset();
    ASSERT_TRUE(shared);
    EXPECT_TRUE(shared->valid());
    EXPECT_TRUE(a.drain(10s));
    const auto other = b.try_acquire("k", how);
    EXPECT_FALSE(other);
    shared->release();
    EXPECT_TRUE(b.try_acquire("k", how));
}

// Each thread that ends its part of a program waits for what is under way.
TEST(Cancelling, ThreadsThatDrainAtOnceAllReturnWhenAllHasEnded) {
    journal_world one;
    auto a = one.open();
    one.faults->release_delay = 200ms;
    for (int round = 0; round < 5; ++round) {
        const auto begun = std::chrono::steady_clock::now();
        ASSERT_TRUE(a.acquire("k", {.ttl = 1min}, 10s));  // released at once
        {
            std::vector<std::jthread> threads;
            for (int i = 0; i < 3; ++i) threads.emplace_back([&] { EXPECT_TRUE(a.drain(1min)); });
        }
        EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s);
    }
}

// Both a wrapped executor of the program's context and one of pawl's own.
TEST(Cancelling, FromAStrandTheSame) {
    journal_world one;
    auto a = std::make_unique<locks>(one.open());
    auto b = one.open();
    one.faults->answers_held = true;
    auto context = std::make_unique<boost::asio::io_context>();
    boost::asio::co_spawn(boost::asio::make_strand(*context), ask_for(*a, once, 0ms),
                          boost::asio::detached);
    context->poll();
    wait_until_held(b, "k");
    context.reset();
    one.faults->answers_held = false;
    EXPECT_TRUE(a->drain(10s));
    auto held = b.acquire("k", once, 10s);
    ASSERT_TRUE(held);
    boost::asio::co_spawn(boost::asio::make_strand(a->get_executor()), ask_for(*a, once, 1h),
                          boost::asio::detached);
    wait_until_awaited(b, "k");
    a.reset();
}

struct many_runs {
    std::latch running;
    std::atomic<int> returned{0};
    job patient(int which, millis winding_down) {
        return {.name = "k" + std::to_string(which),
                .lease = {.ttl = 1min},
                .body = [this, winding_down](const run& now) {
                    running.count_down();
                    wait_for_stop(now.stop);
                    EXPECT_TRUE(now.checkpoint("nearly"));
                    std::this_thread::sleep_for(winding_down);
                    ++returned;
                }};
    }
};

// All are told at once, and then waited for.
TEST(Cancelling, AContextThatGoesStopsItsRunsTogether) {
    journal_world one;
    auto a = one.open();
    many_runs all{std::latch{5}};
    auto context = std::make_unique<boost::asio::io_context>();
    for (int i = 0; i < 5; ++i) {
        const auto one_of_them = all.patient(i, 4s);
        boost::asio::co_spawn(*context, a.async_run(one_of_them), boost::asio::detached);
    }
    context->poll();
    all.running.wait();
    const auto began = lease_clock::now();
    context.reset();
    EXPECT_EQ(all.returned, 5);
    EXPECT_LT(lease_clock::now() - began, 15s);
}

TEST(Cancelling, LocksThatGoStopTheirRunsAndWaitForThem) {
    journal_world one;
    auto a = std::make_unique<locks>(one.open());
    many_runs all{std::latch{2}};
    boost::asio::io_context context;
    signalled first, second;
    const auto work = [&](int which) -> awaitable<void> {
        const auto mine = all.patient(which, 0ms);
        auto running = a->async_run(mine);
        co_await std::move(running);
    };
    first.spawn(context.get_executor(), work(1));
    second.spawn(context.get_executor(), work(2));
    std::thread program{[&] { context.run(); }};
    all.running.wait();
    a.reset();
    EXPECT_EQ(all.returned, 2);
    program.join();
    EXPECT_TRUE(first.over && second.over);
    for (const auto& row :
         one.ask([&] { return one.records->list_runs(run_filter{}, {}, 10); }).records) {
        EXPECT_EQ(row.status, run_status::cancelled);
        EXPECT_EQ(row.checkpoint, "nearly");
    }
}

// Told to stop before it began, a run uses no occurrence up.
TEST(Cancelling, ARunThatIsToldToStopBeforeItBeganIsGivenBack) {
    journal_world one;
    auto a = one.open(), b = one.open();
    one.journal_faults->begin_delay = 2s;
    std::stop_source stop;
    one.journal_faults->on_begun = [&] { stop.request_stop(); };
    std::atomic<bool> ran{false};
    const job nightly{.name = "k", .lease = once, .body = [&](const run&) { ran = true; }};
    EXPECT_EQ(a.run(nightly, stop.get_token()), run_outcome::skipped_busy);
    const auto rows = [&] {
        return one.ask([&] { return one.records->list_runs(run_filter{}, {}, 10); }).records;
    };
    EXPECT_FALSE(ran);
    EXPECT_EQ(rows().front().status, run_status::skipped);
    one.journal_faults->begin_delay = 0ms;
    const job again{.name = "k", .lease = once, .body = [&](const run&) { ran = true; }};
    EXPECT_EQ(b.run(again), run_outcome::ran);
    EXPECT_TRUE(ran);
    EXPECT_EQ(rows().front().status, run_status::completed);
}

// A pool has many threads, and a coroutine is on one after the other.
TEST(Cancelling, FromAThreadPoolTheSame) {
    journal_world one;
    auto a = one.open();
    std::atomic<int> granted{0};
    {
        boost::asio::thread_pool pool{4};
        const auto ask = [&](std::string key) -> awaitable<void> {
            const lease_options plain{.ttl = 1min};
            auto asking = a.async_acquire(std::move(key), plain, 1min);
            auto mine = co_await std::move(asking);
            if (mine) ++granted;
            auto ending = mine->async_release();
            co_await std::move(ending);
        };
        for (int i = 0; i < 200; ++i)
            boost::asio::co_spawn(pool, ask("key-" + std::to_string(i % 20)),
                                  boost::asio::detached);
        pool.join();
    }
    EXPECT_EQ(granted, 200);
}

// Goal: a body that is over at once is waited for as any other. Method: threads of which any may go
// on with the coroutine while another is still at the beginning of the body's thread.
TEST(Cancelling, ABodyThatIsOverAtOnceMayOvertakeItsBeginning) {
    boost::asio::thread_pool pool{4};
    std::atomic<int> ended{0};
    const auto run = [&]() -> awaitable<void> {
        for (int i = 0; i < 2'000; ++i) {
            auto running = runtime::on_thread([] {}, std::stop_source{});
            co_await std::move(running);
            ++ended;
        }
    };
    for (int i = 0; i < 4; ++i) boost::asio::co_spawn(pool, run(), boost::asio::detached);
    pool.join();
    EXPECT_EQ(ended, 8'000);
}

// Goal: an awaited call touches nothing of a coroutine that may be gone. Method: answers that are
// there at once, on threads of which any may go on with the coroutine; every call has left the
// store in the end, or its end would wait for ever. Made for the sanitizers.
TEST(Cancelling, AnAnswerThatIsThereAtOnceMayOvertakeItsCall) {
    journal_world one;
    std::optional<locks> a{one.open()};
    std::atomic<int> answered{0};
    boost::asio::thread_pool pool{4};
    const auto ask = [&]() -> awaitable<void> {
        for (int i = 0; i < 500; ++i) {
            auto asking = a->async_inspect("k");
            if (!co_await std::move(asking)) ++answered;
        }
    };
    for (int i = 0; i < 8; ++i) boost::asio::co_spawn(pool, ask(), boost::asio::detached);
    for (int i = 0; i < 500; ++i)
        if (!a->async_inspect("k", boost::asio::use_future).get()) ++answered;
    pool.join();
    EXPECT_EQ(answered, 4'500);
    a.reset();
}

}  // namespace
}  // namespace pawl
