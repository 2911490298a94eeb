// `locks` in an io_context of the program's (open_options::executor), which runs it.
#include <pawl/pawl.hpp>

#include "engines/memory/store/memory_store.hpp"
#include "test_support/faults/eventually.hpp"
#include "test_support/faults/journal_world.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using boost::asio::awaitable;

constexpr lease_options plain{.ttl = 1min};

std::ptrdiff_t threads_now() {
    const std::filesystem::directory_iterator all{"/proc/self/task"};
    return std::distance(begin(all), end(all));
}

class Guest : public testing::Test {
protected:
    std::unique_ptr<locks> open_here(open_options options = {}) {
        options.executor = host.get_executor();
        return std::make_unique<locks>(one.open(std::move(options)));
    }
    // Whether the context runs out of work.
    bool runs_out() {
        host.restart();
        host.run_for(30s);
        return host.stopped();
    }
    template <class Work>
    void spawn(Work work) {
        boost::asio::co_spawn(host, std::move(work), [](const std::exception_ptr& error) {
            if (error) std::rethrow_exception(error);
        });
    }

    // Whether what is awaited in another context ends with errc::closed.
    static bool ends_closed(awaitable<void> work) {
        boost::asio::io_context elsewhere{1};
        bool closed = false;
        boost::asio::co_spawn(elsewhere, std::move(work), [&](const std::exception_ptr& error) {
            try {
                if (error) std::rethrow_exception(error);
            } catch (const store_error& failed) {
                closed = failed.code() == errc::closed;
            }
        });
        elsewhere.run_for(30s);
        return closed;
    }

    // Destroyed last: it may have guests still.
    journal_world one;
    boost::asio::io_context host{1};
    locks other = one.open();
};

// Goal: an Asio program has no thread of pawl's. Method: open, acquire, renew, release and close on
// the only thread, which runs the context until there is nothing left to do.
TEST_F(Guest, WorksOnItsProgramsThreadAlone) {
    const auto before = threads_now();
    // Not of the world, whose store has timers of Asio's.
    const auto plain_store = [&](net::loop& where) {
        return memory::make_memory_store(where, one.settings);
    };
    const auto mine = std::make_unique<locks>(std::make_unique<runtime::core>(
        plain_store, one.settings, open_options{.executor = host.get_executor()}));
    std::thread::id told_on;
    auto work = [&]() -> awaitable<void> {
        auto lease = co_await mine->async_acquire("k", plain, 1min);
        EXPECT_TRUE(lease);
        if (!lease) co_return;
        EXPECT_TRUE(co_await lease->async_renew());
        lease->watch_deadline([&](instant, instant) { told_on = std::this_thread::get_id(); });
        EXPECT_TRUE(co_await lease->async_renew());
        EXPECT_EQ(co_await lease->async_release(), release_outcome::released);
        EXPECT_LE(threads_now(), before);
        co_await mine->async_close();
    };
    spawn(work());
    EXPECT_TRUE(runs_out());
    EXPECT_EQ(told_on, std::this_thread::get_id());
    EXPECT_TRUE(other.try_acquire("k", plain));
}

// Goal: heartbeats are the context's work. Method: it is run for longer than a TTL, and no longer
// than that afterwards.
TEST_F(Guest, LeasesAreRenewedWhileTheContextRunsAndNotLonger) {
    auto mine = open_here();
    std::optional<lease> kept;
    auto work = [&]() -> awaitable<void> {
        // A machine that stands still for two thirds of it ends it.
        auto lease = co_await mine->async_try_acquire("k", {.ttl = 9s});
        if (lease) kept.emplace(std::move(*lease));
    };
    spawn(work());
    host.run_for(12s);
    ASSERT_TRUE(kept);
    EXPECT_TRUE(kept->valid());
    auto next = other.acquire("k", plain, 30s);
    EXPECT_TRUE(next);
    EXPECT_FALSE(kept->valid());
}

TEST_F(Guest, ACallThatBlocksIsAMistakeWhereTheContextRuns) {
    auto mine = open_here();
    int mistakes = 0;
    boost::asio::post(host, [&] {
        try {
            static_cast<void>(mine->try_acquire("k", plain));
        } catch (const std::logic_error&) {
            ++mistakes;
        }
        host.stop();
    });
    host.run();
    EXPECT_EQ(mistakes, 1);
}

// Goal: a service that has stopped its context is told at once, and hangs in nothing. Method: calls
// of another thread; the context runs on only if one of them hangs.
TEST_F(Guest, ACallThatBlocksIsAMistakeWhereTheContextWasStopped) {
    auto mine = open_here();
    std::optional<lease> kept;
    auto work = [&]() -> awaitable<void> {
        // So long that it is free only once it was released.
        auto lease = co_await mine->async_try_acquire("k", {.ttl = 10min});
        if (lease) kept.emplace(std::move(*lease));
        host.stop();
    };
    spawn(work());
    host.run();
    ASSERT_TRUE(kept);
    const auto is_mistake = [&](auto call) {
        auto made = std::async(std::launch::async, [&] {
            try {
                call();
            } catch (const std::logic_error&) {
                return true;
            }
            return false;
        });
        if (made.wait_for(30s) == std::future_status::ready) return made.get();
        host.restart();
        while (made.wait_for(0s) != std::future_status::ready) host.run_one_for(10ms);
        return false;
    };
    EXPECT_TRUE(is_mistake([&] { static_cast<void>(mine->try_acquire("other", plain)); }));
    EXPECT_TRUE(is_mistake([&] { static_cast<void>(kept->renew()); }));
    EXPECT_TRUE(is_mistake([&] { kept->release(); }));
    // What was to be released is, as soon as the context runs on.
    EXPECT_TRUE(eventually([&] {
        host.restart();
        host.run_for(100ms);
        const auto seen = other.inspect("k");
        return !seen || number(seen->holder) == 0;
    }));
    EXPECT_TRUE(other.acquire("k", {.ttl = 30s}, 30s));
}

TEST_F(Guest, ACallThatBlocksIsServedOnAnotherThread) {
    auto mine = open_here();
    auto work = std::async(std::launch::async, [&] {
        auto lease = mine->try_acquire("k", plain);
        const bool won = lease && lease->renew();
        if (lease) lease->release();
        boost::asio::post(host, [&] { mine.reset(); });
        return won;
    });
    EXPECT_TRUE(runs_out());
    EXPECT_TRUE(work.get());
}

// Goal: the destructor waits for nothing, and loses what was held. Method: it is called on the
// context's thread, under a waiter of another thread and one of the context's own.
TEST_F(Guest, TheDestructorWaitsForNothing) {
    auto theirs = other.try_acquire("k", plain), more = other.try_acquire("l", plain);
    auto mine = open_here();
    std::vector<lease> kept;
    std::atomic<int> closed{0};
    const auto note = [&](const std::exception_ptr& error) {
        try {
            if (error) std::rethrow_exception(error);
        } catch (const store_error& failed) {
            if (failed.code() == errc::closed) ++closed;
        }
    };
    auto waiting = [&]() -> awaitable<void> {
        static_cast<void>(co_await mine->async_acquire("k", plain, 1h));
    };
    auto acquiring = [&]() -> awaitable<void> {
        auto lease = co_await mine->async_try_acquire("mine", plain);
        if (lease) kept.push_back(std::move(*lease));
    };
    boost::asio::co_spawn(host, acquiring(), boost::asio::detached);
    boost::asio::co_spawn(host, waiting(), note);
    std::thread blocked{[&, &where = *mine] {
        try {
            static_cast<void>(where.acquire("l", plain, 1h));
        } catch (...) {
            note(std::current_exception());
        }
    }};
    const auto awaited = [&](const char* key) {
        return other.inspect(key)->waiters.value_or(0) > 0;
    };
    while (!awaited("k") || !awaited("l")) host.run_one_for(10ms);
    boost::asio::post(host, [&] { mine.reset(); });
    EXPECT_TRUE(runs_out());
    blocked.join();
    EXPECT_EQ(closed, 2);
    ASSERT_EQ(kept.size(), 1u);
    EXPECT_EQ(kept[0].lost(), loss_reason::closed);
}

// Goal: an end in order waits for bodies, and for releases that have begun. Method: a run whose
// body ends when it is told to stop.
TEST_F(Guest, AsyncCloseWaitsForBodies) {
    auto mine = open_here();
    std::latch runs{1};
    std::atomic<bool> returned{false};
    const job patient{.name = "k", .lease = plain, .body = [&](const run& now) {
                          runs.count_down();
                          while (!now.stop.stop_requested()) std::this_thread::yield();
                          returned = true;
                      }};
    bool ended_after = false;
    auto running = [&]() -> awaitable<void> {
        static_cast<void>(co_await mine->async_run(patient));
    };
    auto closing = [&]() -> awaitable<void> {
        while (!runs.try_wait()) co_await boost::asio::post(boost::asio::use_awaitable);
        co_await mine->async_close();
        ended_after = returned;
    };
    boost::asio::co_spawn(host, running(), boost::asio::detached);
    spawn(closing());
    EXPECT_TRUE(runs_out());
    EXPECT_TRUE(ended_after);
    EXPECT_TRUE(other.try_acquire("k", plain));
    EXPECT_THROW(static_cast<void>(mine->owner()), std::logic_error);
}

// Goal: members in the wrong order crash nothing, and end the bodies. Method: the context goes
// first, under a run, a waiter and a lease.
TEST_F(Guest, AContextThatGoesFirstClosesIt) {
    std::optional<lease> kept;
    std::latch runs{1};
    std::atomic<bool> returned{false};
    const job patient{.name = "run", .lease = plain, .body = [&](const run& now) {
                          runs.count_down();
                          while (!now.stop.stop_requested()) std::this_thread::yield();
                          returned = true;
                      }};
    std::unique_ptr<locks> mine;
    auto theirs = other.try_acquire("k", plain);
    {
        boost::asio::io_context brief{1};
        mine = std::make_unique<locks>(one.open({.executor = brief.get_executor()}));
        auto acquiring = [&]() -> awaitable<void> {
            auto lease = co_await mine->async_try_acquire("mine", plain);
            if (lease) kept.emplace(std::move(*lease));
        };
        auto waiting = [&]() -> awaitable<void> {
            static_cast<void>(co_await mine->async_acquire("k", plain, 1h));
        };
        auto running = [&]() -> awaitable<void> {
            static_cast<void>(co_await mine->async_run(patient));
        };
        boost::asio::co_spawn(brief, acquiring(), boost::asio::detached);
        boost::asio::co_spawn(brief, waiting(), boost::asio::detached);
        boost::asio::co_spawn(brief, running(), boost::asio::detached);
        while (!kept || !runs.try_wait() || other.inspect("k")->waiters.value_or(0) == 0)
            brief.run_one_for(10ms);
    }
    EXPECT_TRUE(returned);
    EXPECT_EQ(kept->lost(), loss_reason::closed);
    EXPECT_TRUE(kept->stop_token().stop_requested());
    EXPECT_THROW(static_cast<void>(mine->try_acquire("other", plain)), store_error);
    auto asking = [&]() -> awaitable<void> {
        EXPECT_FALSE(co_await kept->async_renew());
        EXPECT_EQ(co_await kept->async_release(), release_outcome::unknown);
        static_cast<void>(co_await mine->async_inspect("k"));
    };
    auto closing = [&]() -> awaitable<void> { co_await mine->async_close(); };
    EXPECT_TRUE(ends_closed(asking()));
    EXPECT_FALSE(ends_closed(closing()));
    EXPECT_THROW(static_cast<void>(mine->owner()), std::logic_error);
}

// Goal: it may end in the middle of its own end. Method: the object is destroyed under a body, and
// then under a release without an answer; its context goes before that is over.
TEST_F(Guest, AContextMayGoWhileItEnds) {
    for (const bool under_a_body : {true, false}) {
        std::latch runs{1};
        const job patient{.name = "run", .lease = plain, .body = [&](const run& now) {
                              runs.count_down();
                              while (!now.stop.stop_requested()) std::this_thread::yield();
                          }};
        boost::asio::io_context brief{1};
        auto mine = std::make_unique<locks>(one.open({.executor = brief.get_executor()}));
        auto running = [&]() -> awaitable<void> {
            if (under_a_body) static_cast<void>(co_await mine->async_run(patient));
        };
        auto leaving = [&]() -> awaitable<void> {
            auto lease = co_await mine->async_try_acquire("mine", plain);
            while (under_a_body && !runs.try_wait())
                co_await boost::asio::post(boost::asio::use_awaitable);
            if (!under_a_body) one.faults->release_delay = 30s;
            lease.reset();
            mine.reset();
            co_await boost::asio::post(boost::asio::use_awaitable);
            brief.stop();
        };
        boost::asio::co_spawn(brief, running(), boost::asio::detached);
        boost::asio::co_spawn(brief, leaving(), boost::asio::detached);
        brief.run_for(30s);
        EXPECT_EQ(mine, nullptr);
        one.faults->release_delay = 0ms;
    }
}

// Goal: a caller that blocks comes back when its bodies have ended, as they use what is theirs.
TEST_F(Guest, ACallThatBlocksOutlivesItsBodiesWhenTheContextGoes) {
    std::thread blocked;
    std::atomic<int> under_way{0};
    {
        boost::asio::io_context brief{1};
        auto mine = std::make_shared<locks>(one.open({.executor = brief.get_executor()}));
        blocked = std::thread{[mine, &under_way] {
            std::atomic<int> written{0};
            try {
                mine->run_partitions("parts", 2, {}, [&](const partition& part) {
                    ++under_way;
                    while (!part.stop.stop_requested()) std::this_thread::yield();
                    for (int i = 0; i < 1'000; ++i) std::this_thread::yield();
                    written = 1;
                });
            } catch (const store_error& error) {
                EXPECT_EQ(error.code(), errc::closed);
            }
            EXPECT_EQ(written, 1);
        }};
        while (under_way < 2) brief.run_one_for(10ms);
    }
    blocked.join();
}

// Goal: guests of one context end together. Method: a body of one blocks in a call of the other.
TEST_F(Guest, ABodyMayWaitForAnotherGuestOfTheContext) {
    auto theirs = other.try_acquire("k", plain);
    std::atomic<bool> closed{false};
    std::latch runs{1};
    std::unique_ptr<locks> first, second;
    {
        boost::asio::io_context brief{1};
        first = std::make_unique<locks>(one.open({.executor = brief.get_executor()}));
        second = std::make_unique<locks>(one.open({.executor = brief.get_executor()}));
        const job waiting{.name = "run", .lease = plain, .body = [&](const run&) {
                              runs.count_down();
                              try {
                                  static_cast<void>(second->acquire("k", plain, 1h));
                              } catch (const store_error& error) {
                                  closed = error.code() == errc::closed;
                              }
                          }};
        auto running = [&]() -> awaitable<void> {
            static_cast<void>(co_await first->async_run(waiting));
        };
        boost::asio::co_spawn(brief, running(), boost::asio::detached);
        while (!runs.try_wait() || other.inspect("k")->waiters.value_or(0) == 0)
            brief.run_one_for(10ms);
    }
    EXPECT_TRUE(closed);
}

TEST_F(Guest, AsyncCloseOnPawlsOwnExecutorIsAMistake) {
    auto mine = open_here();
    const auto closes = [](locks& one) -> awaitable<bool> {
        try {
            co_await one.async_close();
        } catch (const std::logic_error&) {
            co_return false;
        }
        co_return true;
    };
    EXPECT_FALSE(
        boost::asio::co_spawn(other.get_executor(), closes(other), boost::asio::use_future).get());
    auto on_the_guest =
        boost::asio::co_spawn(mine->get_executor(), closes(*mine), boost::asio::use_future);
    boost::asio::post(host, [&] { boost::asio::post(host, [&] { mine.reset(); }); });
    EXPECT_TRUE(runs_out());
    EXPECT_FALSE(on_the_guest.get());
    EXPECT_TRUE(other.try_acquire("k", plain));
}

TEST_F(Guest, AnAsyncCloseThatIsNotAwaitedChangesNothing) {
    auto mine = open_here();
    {
        auto unused = mine->async_close();
    }
    auto work = [&]() -> awaitable<void> {
        EXPECT_TRUE(co_await mine->async_try_acquire("k", plain));
        co_await mine->async_close();
    };
    spawn(work());
    EXPECT_TRUE(runs_out());
}

// Goal: what cannot be opened leaves a context that another thread runs as it was.
TEST_F(Guest, WhatCannotBeOpenedLeavesTheContextAlone) {
    auto keep = boost::asio::make_work_guard(host);
    std::thread program{[&] { host.run(); }};
    for (int i = 0; i < 100; ++i) {
        EXPECT_THROW(open_here({.owner = std::string(300, 'x')}), option_error);
        const auto no_store = [](boost::asio::any_io_executor) { return nullptr; };
        EXPECT_THROW(
            static_cast<void>(locks::open(no_store, {}, {.executor = host.get_executor()})),
            option_error);
    }
    keep.reset();
    program.join();
    host.notify_fork(boost::asio::execution_context::fork_prepare);
    host.notify_fork(boost::asio::execution_context::fork_parent);
    auto mine = open_here();
    EXPECT_THROW(host.notify_fork(boost::asio::execution_context::fork_prepare), std::logic_error);
}

// Goal: an object that goes right behind its context waits for a caller that blocks in it. Method:
// as often as it takes for one to be still on its way out.
TEST_F(Guest, ABlockedCallerHasLeftBeforeTheObjectGoes) {
    auto theirs = other.try_acquire("k", plain);
    for (int i = 0; i < 50; ++i) {
        std::unique_ptr<locks> mine;
        std::thread blocked;
        {
            boost::asio::io_context brief{1};
            mine = std::make_unique<locks>(one.open({.executor = brief.get_executor()}));
            blocked = std::thread{[&, &where = *mine] {
                EXPECT_THROW(static_cast<void>(where.acquire("k", plain, 1h)), store_error);
            }};
            while (other.inspect("k")->waiters.value_or(0) == 0) brief.run_one_for(10ms);
        }
        mine.reset();
        blocked.join();
    }
}

// Goal: who has no `try`, because its calls throw nothing, needs none for its context either.
TEST_F(Guest, ACallWithoutExceptionsIsToldOfTheEndAsAFailure) {
    auto theirs = other.try_acquire("k", plain);
    std::unique_ptr<locks> mine;
    std::thread blocked;
    std::optional<acquire_result<lease, failure>> told;
    {
        boost::asio::io_context brief{1};
        mine = std::make_unique<locks>(one.open({.executor = brief.get_executor()}));
        blocked = std::thread{[&] { told.emplace(mine->acquire("k", plain, 1h, std::nothrow)); }};
        while (other.inspect("k")->waiters.value_or(0) == 0) brief.run_one_for(10ms);
    }
    blocked.join();
    ASSERT_TRUE(std::holds_alternative<failure>(*told));
    EXPECT_EQ(std::get<failure>(*told).code, errc::closed);
}

// Goal: an object and its context may go at once, on two threads. Method: the context is destroyed
// on a thread of its own, and the object goes as soon as a lease hears of it, or just before.
TEST_F(Guest, TheObjectMayGoWhileItsContextIsDestroyed) {
    for (int i = 0; i < 50; ++i) {
        auto brief = std::make_unique<boost::asio::io_context>(1);
        auto mine = std::make_unique<locks>(one.open({.executor = brief->get_executor()}));
        std::optional<lease> kept;
        auto acquiring = [&]() -> awaitable<void> {
            auto lease = co_await mine->async_try_acquire("k", plain);
            if (lease) kept.emplace(std::move(*lease));
        };
        boost::asio::co_spawn(*brief, acquiring(), boost::asio::detached);
        while (!kept) brief->run_one_for(10ms);
        std::latch told{1};
        std::optional<std::stop_callback<std::function<void()>>> on_stop;
        on_stop.emplace(kept->stop_token(), [&] {
            told.count_down();
            for (int turn = 0; turn < 100; ++turn) std::this_thread::yield();
        });
        std::thread ending{[&] { brief.reset(); }};
        if (i % 2 == 0) told.wait();
        mine.reset();
        ending.join();
        EXPECT_EQ(kept->lost(), loss_reason::closed);
        on_stop.reset();
        kept.reset();
        EXPECT_TRUE(other.force_release("k", other.inspect("k")->holder, 0ms));
    }
}

// Goal: what throws nothing for a store's failure throws nothing for its context either: it may be
// called by a destructor. Method: the context goes under a renewal, and under a release, without an
// answer.
TEST_F(Guest, ARenewalAndAReleaseEndWithoutAWordWhenTheContextGoes) {
    one.faults->renewals_held = true;
    one.faults->release_delay = 1h;
    for (const bool renews : {true, false}) {
        std::unique_ptr<locks> mine;
        std::optional<lease> kept;
        std::future<bool> unanswered;
        {
            boost::asio::io_context brief{1};
            mine = std::make_unique<locks>(one.open({.executor = brief.get_executor()}));
            auto acquiring = [&]() -> awaitable<void> {
                auto lease = co_await mine->async_try_acquire(renews ? "a" : "b", plain);
                if (lease) kept.emplace(std::move(*lease));
            };
            boost::asio::co_spawn(brief, acquiring(), boost::asio::detached);
            while (!kept) brief.run_one_for(10ms);
            const int before = one.faults->operations;
            unanswered = std::async(std::launch::async, [&] {
                return renews ? !kept->renew() : kept->release() == release_outcome::unknown;
            });
            while (one.faults->operations == before) brief.run_one_for(10ms);
        }
        EXPECT_NO_THROW(EXPECT_TRUE(unanswered.get()));
    }
}

TEST_F(Guest, OneThatIsOpenedAndNeverRunGoesWithoutAWord) {
    auto mine = open_here();
    mine.reset();
    EXPECT_TRUE(runs_out());
    auto never_run = open_here();
}

TEST_F(Guest, AnExecutorOfAnotherKindIsRejected) {
    boost::asio::thread_pool pool{1};
    const auto opened_on = [&](const boost::asio::any_io_executor& executor) {
        static_cast<void>(one.open({.executor = executor}));
    };
    EXPECT_THROW(opened_on(boost::asio::make_strand(host)), option_error);
    EXPECT_THROW(opened_on(pool.get_executor()), option_error);
}

// With a thread of its own as well, async_close() ends without blocking its caller.
TEST_F(Guest, AsyncCloseIsThereForAnyLocks) {
    auto held = other.try_acquire("k", plain);
    std::atomic<bool> went_on{false};
    auto closing = [&]() -> awaitable<void> { co_await other.async_close(); };
    spawn(closing());
    boost::asio::post(host, [&] { went_on = true; });
    EXPECT_TRUE(runs_out());
    EXPECT_TRUE(went_on);
    EXPECT_EQ(held->lost(), loss_reason::closed);
}

// Leadership and partitions work in the context as well.
TEST_F(Guest, LeadsAndShares) {
    auto mine = open_here({.owner = "guest"});
    std::stop_source enough;
    std::atomic<int> bodies{0};
    const auto until_stopped = [&](const std::stop_token& stop) {
        if (++bodies == 3) enough.request_stop();
        while (!stop.stop_requested()) std::this_thread::yield();
    };
    const term_body leading = [&](const term& now) { until_stopped(now.stop); };
    const partition_body sharing = [&](const partition& part) { until_stopped(part.stop); };
    auto lead = [&]() -> awaitable<void> {
        EXPECT_EQ(co_await mine->async_lead("leader", plain, enough.get_token(), leading), 1u);
    };
    auto share = [&]() -> awaitable<void> {
        co_await mine->async_run_partitions("parts", 2, enough.get_token(), sharing);
    };
    spawn(lead());
    spawn(share());
    auto close = [&]() -> awaitable<void> {
        while (!enough.stop_requested()) co_await boost::asio::post(boost::asio::use_awaitable);
        co_await mine->async_close();
    };
    spawn(close());
    EXPECT_TRUE(runs_out());
    EXPECT_EQ(bodies, 3);
}

}  // namespace
}  // namespace pawl
