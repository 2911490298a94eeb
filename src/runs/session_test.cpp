// What locks.run records, on a store and a journal in memory.
#include <pawl/pawl.hpp>

#include "net/loop.hpp"
#include "runs/session.hpp"
#include "test_support/faults/journal_world.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;

constexpr occurrence due{1'700'000'000'000};
constexpr lease_options again{
    .ttl = 10s, .occurrence = due, .delivery = delivery::at_least_once, .grace = 0ms};

TEST(WrittenRun, ARunIsWrittenDownWithItsTokenAndItsEnd) {
    journal_world one;
    auto a = one.open();
    std::string id;
    fence_token token{};
    const job nightly{.name = "a/nightly", .lease = {.ttl = 10s}, .body = [&](const run& now) {
                          id = now.id;
                          token = now.token;
                          EXPECT_EQ(one.run_of(now.id).status, run_status::started);
                      }};
    EXPECT_EQ(a.run(nightly), run_outcome::ran);
    const auto row = one.run_of(id);
    EXPECT_EQ(row.job, "a/nightly");
    EXPECT_EQ(row.key, "a/nightly");
    EXPECT_EQ(row.token, token);
    EXPECT_EQ(row.owner, a.owner());
    EXPECT_EQ(row.trigger, "library");
    EXPECT_EQ(row.status, run_status::completed);
    EXPECT_TRUE(row.completed_at);
}

TEST(WrittenRun, AnOccurrenceThatTheJournalKnowsAsOverIsNotRunAgain) {
    journal_world one;
    auto a = one.open();
    int runs = 0;
    const job nightly{.name = "j", .lease = again, .body = [&](const run&) { ++runs; }};
    EXPECT_EQ(a.run(nightly), run_outcome::ran);
    // Another store, as after a loss of all leases: only the journal remembers.
    auto b = one.open_with_fresh_store();
    EXPECT_EQ(b.run(nightly), run_outcome::skipped_done);
    EXPECT_EQ(runs, 1);
}

// The ways to run a body, which have to end alike.
using way_to_run = run_outcome (*)(locks&, const job&);
constexpr way_to_run ways_to_run[]{[](locks& on, const job& what) { return on.run(what); },
                                   [](locks& on, const job& what) {
                                       return on.async_run(what, {}, boost::asio::use_future).get();
                                   }};

// What a store is asked for in vain, and the journal does not know: the caller is told so.
void expect_told(const std::function<run_outcome()>& running, const std::string& why) {
    try {
        running();
        ADD_FAILURE() << "it was told as run";
    } catch (const store_error& error) {
        EXPECT_EQ(error.code(), errc::rejected);
        EXPECT_EQ(error.what(),
                  "'j' may not have run for its occurrence, and will not any more: " + why);
    }
}

// Goal: after a loss of data no user is told of a run that was none. Method: data that are new,
// under a quarantine; the journal is older, and knows one of two occurrences.
TEST(WrittenRun, WhatTheStoreMayHaveForgottenIsToldAsThat) {
    for (const auto run_by : ways_to_run) {
        journal_world one;
        int runs = 0;
        job nightly{.name = "j",
                    .lease = {.ttl = 1s, .occurrence = due},
                    .body = [&](const run&) { ++runs; },
                    .waiting = {.wait = 30s}};
        auto before = one.open_with_fresh_store();
        EXPECT_EQ(run_by(before, nightly), run_outcome::ran);
        one.settings.quarantine = 1s;
        auto a = one.open();
        EXPECT_EQ(run_by(a, nightly), run_outcome::skipped_done);
        const occurrence next{number(due) + 1'000};
        nightly.lease.occurrence = next;
        const std::string why = "the store may have lost whether it has run (quarantine)";
        expect_told([&] { return run_by(a, nightly); }, why);
        const auto row = one.ask([&] { return one.records->find_occurrence("j", 0, next); });
        ASSERT_TRUE(row);
        EXPECT_EQ(row->status, run_status::skipped);
        EXPECT_EQ(row->reason, why);
        EXPECT_EQ(row->trigger, "library");
        EXPECT_EQ(runs, 1);
    }
}

// Goal: an occurrence that was marked for no run is not told as run. Method: its claim takes
// effect, and is answered when its lease has been taken.
TEST(WrittenRun, WhatWasMarkedByAClaimWithoutAnAnswerIsToldAsThat) {
    for (const auto run_by : ways_to_run) {
        journal_world one;
        int runs = 0;
        const job nightly{.name = "j",
                          .lease = {.ttl = 1min, .occurrence = due},
                          .body = [&](const run&) { ++runs; }};
        auto cut = std::make_shared<testing_faults::plan>();
        cut->answers_held = true;
        cut->answers_to_lose = 1;
        auto a = one.open_node(cut, one.journal_faults), b = one.open();
        const std::string why =
            "the store did not answer in time, and granted the key to another run meanwhile";
        std::thread running{[&] { expect_told([&] { return run_by(a, nightly); }, why); }};
        auto held = b.inspect("j");
        for (; !held || number(held->holder) == 0; held = b.inspect("j")) std::this_thread::yield();
        EXPECT_TRUE(b.force_release("j", held->holder, 0ms));
        cut->answers_held = false;
        running.join();
        const auto row = one.ask([&] { return one.records->find_occurrence("j", 0, due); });
        ASSERT_TRUE(row);
        EXPECT_EQ(row->status, run_status::skipped);
        EXPECT_EQ(row->reason, why);
        EXPECT_EQ(b.run(nightly), run_outcome::skipped_done);
        EXPECT_EQ(runs, 0);
    }
}

// A body may hand what it was given to a thread that outlives everything.
TEST(WrittenRun, ACopyOfWhatTheBodyWasGivenSavesNothingAfterTheRun) {
    journal_world one;
    auto a = std::make_optional(one.open());
    std::optional<run> kept;
    const job nightly{.name = "j", .lease = again, .body = [&](const run& now) {
                          EXPECT_TRUE(now.checkpoint("in time"));
                          kept = now;
                      }};
    EXPECT_EQ(a->run(nightly), run_outcome::ran);
    EXPECT_FALSE(kept->checkpoint("after the run"));
    EXPECT_EQ(one.run_of(kept->id).checkpoint, "in time");
    a.reset();
    EXPECT_FALSE(kept->checkpoint("after the end of its locks"));
}

// At least once: what was thrown is no end, and the next one goes on from what was saved.
TEST(WrittenRun, AnAttemptThatFailedIsResumedFromItsCheckpoint) {
    journal_world one;
    auto a = one.open(), b = one.open();
    std::string id;
    const job broken{.name = "j", .lease = again, .body = [&](const run& now) {
                         id = now.id;
                         EXPECT_EQ(now.last_checkpoint, "");
                         EXPECT_TRUE(now.checkpoint("page 3"));
                         throw std::runtime_error{"no paper"};
                     }};
    EXPECT_THROW(a.run(broken), std::runtime_error);
    EXPECT_EQ(one.run_of(id).status, run_status::abandoned);
    EXPECT_EQ(one.run_of(id).reason, "no paper");
    const job mended{.name = "j", .lease = again, .body = [&](const run& now) {
                         EXPECT_EQ(now.id, id);
                         EXPECT_EQ(now.attempt, 2);
                         EXPECT_EQ(now.last_checkpoint, "page 3");
                         EXPECT_EQ(now.idempotency_key, "j@2023-11-14T22:13:20.000Z");
                     }};
    EXPECT_EQ(b.run(mended), run_outcome::ran);
    EXPECT_EQ(one.run_of(id).status, run_status::completed);
    EXPECT_EQ(a.run(mended), run_outcome::skipped_done);
}

TEST(WrittenRun, WhatIsThrownAtMostOnceIsAFailure) {
    journal_world one;
    auto a = one.open();
    std::string id;
    const job broken{.name = "j", .lease = {.ttl = 10s}, .body = [&](const run& now) {
                         id = now.id;
                         throw 42;
                     }};
    EXPECT_THROW(a.run(broken), int);
    EXPECT_EQ(one.run_of(id).status, run_status::failed);
    EXPECT_EQ(one.run_of(id).reason, "it threw what is not a std::exception");
}

// A body that returns when it is told to has not done its work.
TEST(WrittenRun, AtLeastOnceAStoppedBodyIsNotDone) {
    journal_world one;
    auto a = one.open();
    std::stop_source shutdown;
    std::string id;
    const job patient{.name = "j", .lease = again, .body = [&](const run& now) {
                          id = now.id;
                          shutdown.request_stop();
                          wait_for_stop(now.stop);
                      }};
    EXPECT_EQ(a.run(patient, shutdown.get_token()), run_outcome::ran);
    EXPECT_EQ(one.run_of(id).status, run_status::abandoned);
    int runs = 0;
    const job next{.name = "j", .lease = again, .body = [&](const run&) { ++runs; }};
    EXPECT_EQ(a.run(next), run_outcome::ran);
    EXPECT_EQ(runs, 1);
}

TEST(WrittenRun, IsCancelledFromAnywhere) {
    journal_world one;
    auto a = one.open();
    std::string id;
    const job patient{
        .name = "j", .lease = {.ttl = 10s}, .body = [&](const run& now) {
            id = now.id;
            EXPECT_TRUE(one.ask([&] { return one.records->request_cancel(id, "me"); }));
            wait_for_stop(now.stop);
        }};
    EXPECT_EQ(a.run(patient), run_outcome::ran);
    EXPECT_EQ(one.run_of(id).status, run_status::cancelled);
}

TEST(WrittenRun, AStaleCheckpointIsRejected) {
    journal_world one;
    auto a = one.open(), b = one.open();
    bool saved = true;
    const job victim{.name = "j", .lease = again, .body = [&](const run& now) {
                         EXPECT_TRUE(now.checkpoint("mine"));
                         b.force_release("j", now.token, 0ms);
                         const job thief{.name = "j", .lease = again, .body = [](const run& its) {
                                             EXPECT_EQ(its.last_checkpoint, "mine");
                                             EXPECT_TRUE(its.checkpoint("its"));
                                         }};
                         EXPECT_EQ(b.run(thief), run_outcome::ran);
                         saved = now.checkpoint("late");
                     }};
    // Its lease is trusted still, as no reply has told it; the journal has.
    EXPECT_EQ(a.run(victim), run_outcome::lost);
    EXPECT_FALSE(saved);
}

// As who takes a run for abandoned whose lease goes on.
void end_by_others(journal_world& one, const run& now) {
    run_end judged;
    judged.status = run_status::abandoned;
    const run_ref who{now.id, now.token};
    EXPECT_TRUE(one.ask([&] { return one.records->finish(who, judged); }));
}

// Goal: a body that returns because it was told that it was replaced has not done all. Method: its
// row is ended by others, under its lease.
TEST(WrittenRun, ABodyThatReturnsForAStaleCheckpointIsResumed) {
    for (const auto run_by : ways_to_run) {
        journal_world one;
        auto a = one.open();
        int runs = 0;
        const job nightly{.name = "j", .lease = again, .body = [&](const run& now) {
                              if (++runs == 1) end_by_others(one, now);
                              if (!now.checkpoint("half")) return;
                          }};
        EXPECT_EQ(run_by(a, nightly), run_outcome::lost);
        EXPECT_EQ(run_by(a, nightly), run_outcome::ran);
        EXPECT_EQ(runs, 2);
    }
}

// Goal: work that has ended under its lease is done at the store, so that it is not done again.
// Method: its row is ended by others before it is.
TEST(WrittenRun, WhatEndedUnderItsLeaseIsDoneWhateverItsRowSays) {
    for (const auto run_by : ways_to_run) {
        journal_world one;
        auto a = one.open();
        int runs = 0;
        const job nightly{.name = "j", .lease = again, .body = [&](const run& now) {
                              ++runs;
                              end_by_others(one, now);
                          }};
        EXPECT_EQ(run_by(a, nightly), run_outcome::lost);
        EXPECT_EQ(run_by(a, nightly), run_outcome::skipped_done);
        EXPECT_EQ(runs, 1);
    }
}

TEST(WrittenRun, AJournalThatIsDownStopsNoRun) {
    journal_world one;
    one.journal_faults->fail_all = errc::unreachable;
    auto a = one.open();
    int runs = 0;
    const job nightly{.name = "j", .lease = {.ttl = 10s}, .body = [&](const run&) { ++runs; }};
    EXPECT_EQ(a.run(nightly), run_outcome::ran);
    EXPECT_EQ(runs, 1);
}

// The journal is waited for longer than the lease lives, which the store does not renew: by then
// another may hold it, and the body is not begun. Its occurrence is another node's to run.
TEST(WrittenRun, ABodyDoesNotBeginUnderALeaseThatEndedMeanwhile) {
    journal_world one;
    one.journal_faults->fail_all = errc::unreachable;
    one.faults->renewals_to_fail = 1'000;
    auto a = one.open();
    int runs = 0;
    const lease_options once{.ttl = 300ms, .occurrence = due};
    const job nightly{.name = "j", .lease = once, .body = [&](const run&) { ++runs; }};
    EXPECT_EQ(a.run(nightly), run_outcome::lost);
    EXPECT_EQ(runs, 0);
    one.faults->renewals_to_fail = 0;
    auto b = one.open_without_journal();
    job elsewhere = nightly;
    elsewhere.lease.ttl = 10s;
    EXPECT_EQ(b.run(elsewhere), run_outcome::ran);
    EXPECT_EQ(b.run(elsewhere), run_outcome::skipped_done);
    EXPECT_EQ(runs, 1);
}

TEST(WrittenRun, ACheckpointThatIsNotSavedThrowsAndTheRunContinues) {
    journal_world one;
    auto a = one.open();
    std::string id;
    const job nightly{.name = "j", .lease = {.ttl = 10s}, .body = [&](const run& now) {
                          id = now.id;
                          one.journal_faults->fail_all = errc::unreachable;
                          EXPECT_THROW(static_cast<void>(now.checkpoint("page 3")), store_error);
                          one.journal_faults->fail_all = std::nullopt;
                          EXPECT_TRUE(now.checkpoint("page 4"));
                      }};
    EXPECT_EQ(a.run(nightly), run_outcome::ran);
    EXPECT_EQ(one.run_of(id).checkpoint, "page 4");
}

TEST(WrittenRun, AJournalThatCannotBeOpenedStopsNoRunAndIsTold) {
    struct ears : observer {
        std::string told;
        void on_store_failure(std::string_view operation, const failure& why) override {
            told = std::string{operation} + ": " + why.detail;
        }
    };
    journal_world one;
    auto hears = std::make_shared<ears>();
    auto a = one.open_with_journal(
        [](net::loop&) -> std::shared_ptr<journal> {
            throw store_error{failure{errc::denied, "the journal's file is another's"}};
        },
        {.observer = hears});
    const job nightly{.name = "j", .lease = {.ttl = 10s}, .body = [](const run&) {}};
    EXPECT_EQ(a.run(nightly), run_outcome::ran);
    EXPECT_THAT(hears->told, testing::HasSubstr("journal: "));
    EXPECT_THAT(hears->told, testing::HasSubstr("the journal's file is another's"));
}

TEST(WrittenRun, WithoutAJournalThereIsNoCheckpointAndThatIsSaid) {
    world one;
    auto a = one.open();
    std::string told;
    const job nightly{.name = "j", .lease = {.ttl = 10s}, .body = [&](const run& now) {
                          try {
                              static_cast<void>(now.checkpoint("page 3"));
                          } catch (const option_error& error) {
                              told = error.what();
                          }
                      }};
    EXPECT_EQ(a.run(nightly), run_outcome::ran);
    EXPECT_EQ(told, "the run of 'j' has no journal to keep a checkpoint: open the locks with one");
}

TEST(WrittenRun, ACheckpointHasABound) {
    journal_world one;
    auto a = one.open();
    const job nightly{
        .name = "j", .lease = {.ttl = 10s}, .body = [&](const run& now) {
            EXPECT_THROW(
                static_cast<void>(now.checkpoint(std::string(checkpoint_bytes_max + 1, 'x'))),
                option_error);
            EXPECT_TRUE(now.checkpoint(std::string(checkpoint_bytes_max, 'x')));
        }};
    EXPECT_EQ(a.run(nightly), run_outcome::ran);
}

// Goal: no row is ended behind the back of the node that runs the occurrence next. Method: the
// lease ends while the journal is waited for, which then goes away before it is told.
TEST(WrittenRun, WhatCannotBeToldAsSkippedIsNotGivenBack) {
    journal_world one;
    auto a = one.open(), b = one.open();
    one.journal_faults->begin_delay = 2s;
    one.faults->renewals_to_fail = 1'000;
    const lease_options brief{.ttl = 600ms, .occurrence = due, .grace = 0ms};
    bool ran = false;
    const job nightly{.name = "j", .lease = brief, .body = [&](const run&) { ran = true; }};
    one.journal_faults->on_begun = [&] { one.journal_faults->fail_all = errc::unreachable; };
    EXPECT_EQ(a.run(nightly), run_outcome::lost);
    EXPECT_FALSE(ran);
    one.faults->renewals_to_fail = 0;
    EXPECT_TRUE(a.drain(10s));
    EXPECT_TRUE(std::holds_alternative<already_done>(
        b.acquire_with_reason("j", brief, wait_policy{.wait = 5s})));
}

TEST(WrittenRun, TheCoroutineWritesTheSame) {
    journal_world one;
    auto a = one.open();
    std::string id;
    const job nightly{.name = "j", .lease = {.ttl = 10s}, .body = [&](const run& now) {
                          id = now.id;
                          EXPECT_TRUE(now.checkpoint("half"));
                      }};
    boost::asio::io_context context;
    auto outcome = boost::asio::co_spawn(context, a.async_run(nightly), boost::asio::use_future);
    context.run();
    EXPECT_EQ(outcome.get(), run_outcome::ran);
    EXPECT_EQ(one.run_of(id).status, run_status::completed);
    EXPECT_EQ(one.run_of(id).checkpoint, "half");
}

TEST(WrittenRun, OfManyRunsTheNewestAreKept) {
    journal_world one;
    auto a = one.open();
    const job quick{.name = "j", .lease = {.ttl = 10s}, .body = [](const run&) {}};
    const int begun = static_cast<int>(runs::runs_kept) + 600;
    for (int i = 0; i < begun; ++i) ASSERT_EQ(a.run(quick), run_outcome::ran);
    std::size_t kept = 0;
    run_filter all;
    for (std::string after;;) {
        const auto page = one.ask([&] { return one.records->list_runs(all, after, 1000); });
        kept += page.records.size();
        after = page.next;
        if (after.empty()) break;
    }
    EXPECT_GE(kept, runs::runs_kept);
    // One run in sixteen takes 64 away.
    EXPECT_LT(kept, runs::runs_kept + 300);
}

// Goal: a session is the loop's alone, whatever has it last: the thread of a body has its
// checkpoints. Method: the last to let go is this thread, while the loop is busy.
TEST(RunSession, EndsOnItsLoopWhicheverHandleIsTheLast) {
    net::loop loop;
    std::promise<void> go_on;
    const auto nothing_else_runs = go_on.get_future().share();
    auto is_there = std::make_shared<int>(0);
    const std::weak_ptr<int> end_of_session = is_there;
    runs::run_session::settings how;
    how.who.on_renewal_failures = [is_there](const failure*) {};
    auto session = runs::run_session::make(loop, std::move(how));
    is_there.reset();
    std::promise<void> begun;
    boost::asio::post(loop.get_executor(), [&] {
        begun.set_value();
        nothing_else_runs.wait();
    });
    begun.get_future().wait();
    session.reset();
    EXPECT_FALSE(end_of_session.expired());
    go_on.set_value();
    EXPECT_TRUE(loop.wait_for([]() -> boost::asio::awaitable<bool> { co_return true; }()));
    EXPECT_TRUE(end_of_session.expired());
}

// A loop that has ended takes what was on it along, and a session that is let go of afterwards too.
TEST(RunSession, MayOutliveItsLoop) {
    auto is_there = std::make_shared<int>(0);
    const std::weak_ptr<int> end_of_session = is_there;
    runs::run_session::settings how;
    how.who.on_renewal_failures = [is_there](const failure*) {};
    is_there.reset();
    runs::run_session::self_ptr session;
    {
        net::loop loop;
        session = runs::run_session::make(loop, std::move(how));
    }
    EXPECT_FALSE(end_of_session.expired());
    session.reset();
    EXPECT_TRUE(end_of_session.expired());
}

}  // namespace
}  // namespace pawl
