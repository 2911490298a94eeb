// One scheduler as a program meets it, on real time that is short.
#include "schedule/scheduler_fixture.hpp"
#include "time/clocks.hpp"
#include "time/zone.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;

TEST(Scheduler, WorksWithLeasesAlone) {
    schedule_world one;
    scheduler_node a{one.open_without_journal(), "a"}, b{one.open_without_journal(), "b"};
    for (auto* each : {&a, &b}) {
        each->cron.add(one.note("j", each->name()), each_second);
        each->start();
    }
    ASSERT_TRUE(one.seen.wait_for(3));
    a.stop();
    b.stop();
    const auto occurrences = one.seen.occurrences();
    EXPECT_EQ(std::adjacent_find(occurrences.begin(), occurrences.end()), occurrences.end());
    EXPECT_TRUE(one.rows("j").empty());
}

TEST(Scheduler, ABodyThatThrowsIsTriedAgainAndItsLastWordIsWrittenDown) {
    schedule_world one;
    auto a = one.node("a");
    a->cron.add(one.note_and("mended", "a", brief,
                             [](const run& now) {
                                 if (now.attempt == 1) {
                                     EXPECT_TRUE(now.checkpoint("half"));
                                 }
                                 if (now.attempt < 3) throw std::runtime_error{"no paper"};
                                 EXPECT_EQ(now.last_checkpoint, "half");
                             }),
                {.retries = {.max = 2, .backoff = 1ms}});
    a->cron.add(
        one.note_and("broken", "a", brief, [](const run&) { throw std::runtime_error{"out"}; }),
        {.retries = {.max = 1, .backoff = 1ms}});
    one.trigger("mended", "id-1");
    one.trigger("broken", "id-2");
    a->start();
    ASSERT_TRUE(eventually([&] {
        const auto both = one.rows("mended", run_status::completed).size() +
                          one.rows("broken", run_status::failed).size();
        return both == 2;
    }));
    EXPECT_EQ(one.run_of("id-1").attempt, 3);
    EXPECT_EQ(one.run_of("id-2").attempt, 2);
    EXPECT_EQ(one.run_of("id-2").reason, "out");
    EXPECT_EQ(one.seen.size(), 5u);
}

TEST(Scheduler, ABodyThatTakesTooLongIsToldToStop) {
    schedule_world one;
    auto a = one.node("a");
    a->cron.add(one.note_and("j", "a", brief, [](const run& now) { wait_for_stop(now.stop); }),
                {.soft_timeout = 20ms, .timeout = 50ms});
    one.trigger("j", "id-1");
    a->start();
    ASSERT_TRUE(eventually([&] { return one.rows("j", run_status::timed_out).size() == 1; }));
    const auto told = one.ask([&] { return one.records->history("id-1"); });
    const auto soft = [](const run_event& event) {
        return event.text == "it has taken longer than its soft timeout";
    };
    EXPECT_EQ(std::count_if(told.begin(), told.end(), soft), 1);
}

// A node that has read the same request, and is granted the key when the runner is dead, must not
// go on with it.
TEST(Scheduler, AManualRunIsResumedByNoneWhateverItsJobSays) {
    schedule_world one;
    auto a = one.node("a");
    const lease_options lease{.ttl = 5s, .delivery = delivery::at_least_once, .grace = 0ms};
    a->cron.add(one.note("j", "a", lease), when_asked);
    one.trigger("j", "id-1");
    a->start();
    ASSERT_TRUE(eventually([&] { return one.rows("j", run_status::completed).size() == 1; }));
    EXPECT_EQ(one.run_of("id-1").delivery, delivery::at_most_once);
}

TEST(Scheduler, ARunIsCancelledThroughTheJournal) {
    schedule_world one;
    auto a = one.node("a");
    a->cron.add(one.note_and("j", "a", brief, [](const run& now) { wait_for_stop(now.stop); }),
                when_asked);
    one.trigger("j", "id-1");
    a->start();
    ASSERT_TRUE(one.seen.wait_for(1));
    EXPECT_TRUE(one.ask([&] { return one.records->request_cancel("id-1", "me: too slow"); }));
    ASSERT_TRUE(eventually([&] { return one.rows("j", run_status::cancelled).size() == 1; }));
    EXPECT_EQ(one.run_of("id-1").reason, "cancelled by me: too slow");
    std::vector<std::pair<std::string, std::string>> told;
    for (const auto& event : one.ask([&] { return one.records->history("id-1"); }))
        told.emplace_back(event.kind, event.text);
    EXPECT_THAT(told, testing::IsSupersetOf({std::pair{"asked", "a test"},
                                             std::pair{"cancel_requested", "me: too slow"}}));
}

// Goal: what an attempt took is told without the wait before it. Method: a wait that is long beside
// attempts that end at once.
TEST(Scheduler, TheWaitBeforeARetryIsNoPartOfTheAttempt) {
    struct listening : schedule_observer {
        std::atomic<std::int64_t> took{-1};
        void on_run_finished(std::string_view, run_status, millis how_long) override {
            took = how_long.count();
        }
    };
    constexpr auto least_wait = 4'000;  // of five seconds, give or take a fifth
    schedule_world one;
    auto ears = std::make_shared<listening>();
    auto a = one.node("a", {.observer = ears});
    a->cron.add(one.note_and("j", "a", brief,
                             [](const run& now) {
                                 if (now.attempt == 1) throw std::runtime_error{"no paper"};
                             }),
                {.retries = {.max = 1, .backoff = 5s, .max_backoff = 5s}});
    one.trigger("j", "id-1");
    a->start();
    const auto waits = [&] {
        const auto history = one.ask([&] { return one.records->history("id-1"); });
        return std::ranges::any_of(history, [](const auto& event) {
            return event.kind == "note" && event.text.starts_with("attempt 1 failed: no paper; ");
        });
    };
    ASSERT_TRUE(eventually([&] { return waits(); }));
    EXPECT_EQ(one.run_of("id-1").attempt, 1);
    const auto first = one.run_of("id-1").started_at;
    ASSERT_TRUE(eventually([&] { return one.rows("j", run_status::completed).size() == 1; }));
    const auto row = one.run_of("id-1");
    EXPECT_EQ(row.attempt, 2);
    EXPECT_GE(row.started_at - first, least_wait);
    EXPECT_LT(*row.completed_at - row.started_at, least_wait);
    ASSERT_TRUE(eventually([&] { return ears->took >= 0; }));
    EXPECT_LT(ears->took, least_wait);
}

// What is asked for runs with the arguments that were given, and from what was saved last.
TEST(Scheduler, ARunThatIsAskedForHasItsArgumentsAndTheLastCheckpoint) {
    schedule_world one;
    auto a = one.node("a");
    a->cron.add(one.note_and("j", "a", brief,
                             [](const run& now) { EXPECT_TRUE(now.checkpoint("page 3")); }),
                when_asked);
    one.trigger("j", "id-1", {"--day", "monday"});
    a->start();
    ASSERT_TRUE(eventually([&] { return one.rows("j", run_status::completed).size() == 1; }));
    one.trigger("j", "id-2");
    ASSERT_TRUE(one.seen.wait_for(2));
    const auto lines = one.seen.lines();
    EXPECT_EQ(lines[0].what.id, "id-1");
    EXPECT_EQ(lines[0].what.idempotency_key, "id-1");
    EXPECT_FALSE(lines[0].what.occurrence);
    EXPECT_EQ(lines[0].what.arguments, (std::vector<std::string>{"--day", "monday"}));
    EXPECT_EQ(lines[1].what.last_checkpoint, "page 3");
    EXPECT_EQ(one.run_of("id-1").trigger, "manual");
}

TEST(Scheduler, APausedJobFiresNotUntilItIsResumed) {
    schedule_world one;
    one.ask([&] { return one.records->pause_job("j", "the printer burns", "me"); });
    auto a = one.node("a");
    a->cron.add(one.note("j", "a"), each_second);
    a->cron.add(one.note("other", "a"), each_second);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(2));
    for (const auto& line : one.seen.lines()) EXPECT_EQ(line.what.key, "other");
    one.ask([&] { return one.records->resume_job("j"); });
    ASSERT_TRUE(eventually([&] {
        const auto lines = one.seen.lines();
        return std::any_of(lines.begin(), lines.end(),
                           [](const auto& line) { return line.what.key == "j"; });
    }));
}

TEST(Scheduler, AnOccurrenceDuringTheLastRunIsSkippedAndThatIsWrittenDown) {
    schedule_world one;
    auto a = one.node("a");
    a->cron.add(
        one.note_and("j", "a", brief,
                     [&](const run&) {
                         eventually([&] { return !one.rows("j", run_status::skipped).empty(); });
                     }),
        each_second);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(2));
    EXPECT_EQ(one.rows("j", run_status::skipped).front().reason,
              "the previous run was still active");
}

// Goal: what is skipped is pruned as what has run is. Method: one run outlasts a hundred
// occurrences, and one row is to be kept.
TEST(Scheduler, SkippedOccurrencesArePruned) {
    struct listening : schedule_observer {
        std::atomic<int> skipped{0};
        void on_skipped(std::string_view, occurrence, std::string_view) override { ++skipped; }
    };
    const auto heard = std::make_shared<listening>();
    schedule_world one;
    auto a = one.node("a", {.observer = heard});
    a->cron.add(
        one.note_and("j", "a", brief,
                     [&](const run&) { eventually([&] { return heard->skipped >= 100; }); }),
        {.cron = "@every 100ms", .keep_runs = 1});
    a->start();
    EXPECT_TRUE(eventually([&] { return heard->skipped >= 100; }));
    EXPECT_LT(one.rows("j").size(), 60U);
}

// Goal: a journal that takes long to find the oldest runs is not asked for them again meanwhile.
// Method: it takes longer than the test, and forty occurrences come due.
TEST(Scheduler, OneRemovalOfOldRunsAtATime) {
    schedule_world one;
    one.journal_faults->prune_delay = 1h;
    auto a = one.node("a");
    a->cron.add(one.note("j", "a", brief), {.cron = "@every 100ms", .keep_runs = 1});
    a->start();
    EXPECT_TRUE(one.seen.wait_for(40));
    EXPECT_EQ(one.journal_faults->prunes, 1);
}

// Goal: each partition keeps a row that says that it has run, or it would be taken for lost with
// its node. Method: one row is to be kept of a job with sixteen partitions.
TEST(Scheduler, ARowOfEachPartitionIsKept) {
    schedule_world one;
    auto a = one.node("a");
    auto wide = each_second;
    wide.cron = "*/3 * * * * *";  // no partition is an occurrence behind the others
    wide.partitions = 16;
    wide.keep_runs = 1;
    a->cron.add(one.note("j", "a", brief), wide);
    a->start();
    EXPECT_TRUE(one.seen.wait_for(48));
    a->stop();
    std::set<std::uint32_t> kept;
    for (const auto& row : one.rows("j")) kept.insert(row.partition);
    EXPECT_EQ(kept.size(), 16U);
}

TEST(Scheduler, AnOccurrenceDuringTheLastRunWaitsWhereItIsQueued) {
    const auto none_is_missing = [] {
        schedule_world one;
        auto a = one.node("a");
        std::atomic<int> at_once{0};
        auto queued = each_second;
        queued.overlap = overlap::queue;
        a->cron.add(one.note_and("j", "a", brief,
                                 [&](const run& now) {
                                     EXPECT_EQ(++at_once, 1);
                                     const auto next = number(*now.occurrence) + 1'100;
                                     eventually([&] {
                                         return time::local_now().time_since_epoch() >=
                                                millis{next};
                                     });
                                     --at_once;
                                 }),
                    queued);
        a->start();
        EXPECT_TRUE(one.seen.wait_for(3));
        a->stop();
        const auto all = one.seen.occurrences();
        return std::adjacent_find(all.begin(), all.end(), [](auto earlier, auto later) {
                   return later - earlier != 1'000;
               }) == all.end();
    };
    // A node that a busy machine lets stand still for a second or two looks only for the newest of
    // what came due meanwhile; but not each time.
    EXPECT_TRUE(none_is_missing() || none_is_missing() || none_is_missing());
}

TEST(Scheduler, RunsNoMoreAtATimeThanItMay) {
    schedule_world one;
    auto a = one.node("a", {.max_concurrent_runs = 2});
    std::atomic<int> at_once{0}, most{0};
    for (const std::string name : {"j", "k", "l", "m", "n"})
        a->cron.add(one.note_and(name, "a", brief,
                                 [&](const run&) {
                                     const int now = ++at_once;
                                     if (now > most) most = now;
                                     // The second one comes while the first is here, if it may.
                                     eventually([&] { return most == 2; });
                                     --at_once;
                                 }),
                    each_second);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(10));
    a->stop();
    EXPECT_EQ(most, 2);
}

TEST(Scheduler, JobsComeAndGoWhileItRuns) {
    schedule_world one;
    auto a = one.node("a");
    a->start();
    a->cron.add(one.note("j", "a"), each_second);
    ASSERT_TRUE(one.seen.wait_for(1));
    EXPECT_TRUE(a->cron.remove("j"));
    a->cron.add(one.note("k", "a"), each_second);
    ASSERT_TRUE(eventually([&] {
        const auto lines = one.seen.lines();
        return lines.size() > 3 && lines.end()[-1].what.key == "k" &&
               lines.end()[-2].what.key == "k";
    }));
}

TEST(Scheduler, ACoroutineRunsItAndItMayBeRunAgain) {
    schedule_world one;
    auto where = one.open();
    scheduler cron{where, {.node = "a"}};
    for (int i = 0; i < 2; ++i) {
        std::stop_source enough;
        cron.remove("j");
        cron.add(one.note_and("j", "a", brief, [&](const run&) { enough.request_stop(); }),
                 each_second);
        boost::asio::io_context context;
        auto ended = boost::asio::co_spawn(context, cron.async_run(enough.get_token()),
                                           boost::asio::use_future);
        context.run();
        ended.get();
    }
    EXPECT_EQ(one.rows("j", run_status::completed).size(), 2u);
}

// Goal: an awaitable needs no scheduler that is still there. Method: it is awaited after that one
// has gone.
TEST(Scheduler, ACoroutineRunsItAlsoWhereItsHandleHasGone) {
    schedule_world one;
    auto where = one.open();
    std::stop_source enough;
    auto cron = std::make_unique<scheduler>(where);
    cron->add(one.note_and("j", "a", brief, [&](const run&) { enough.request_stop(); }),
              each_second);
    auto running = cron->async_run(enough.get_token());
    cron.reset();
    boost::asio::io_context context;
    auto ended = boost::asio::co_spawn(context, std::move(running), boost::asio::use_future);
    context.run();
    ended.get();
    EXPECT_EQ(one.rows("j", run_status::completed).size(), 1u);
}

TEST(Scheduler, AJournalThatCannotBeOpenedIsAnErrorAtOnce) {
    schedule_world one;
    auto where = one.open_with_journal([](net::loop&) -> std::shared_ptr<journal> {
        throw store_error{failure{errc::denied, "the journal's file is another's"}};
    });
    scheduler cron{where};
    EXPECT_THROW(cron.run({}), store_error);
    // And not that it runs already.
    EXPECT_THROW(cron.run({}), store_error);
}

TEST(Scheduler, RunsOnceAtATime) {
    schedule_world one;
    auto a = one.node("a");
    a->cron.add(one.note("j", "a"), each_second);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(1));
    EXPECT_THROW(a->cron.run({}), option_error);
}

// Goal: a run() that was rejected is none. Method: it is called where no caller may block.
TEST(Scheduler, ARunThatWasRejectedIsNoRun) {
    schedule_world one;
    auto a = one.open();
    scheduler cron{a};
    cron.add(one.note("j", "a"), each_second);
    std::promise<bool> rejected;
    boost::asio::post(a.get_executor(), [&] {
        try {
            cron.run({});
            rejected.set_value(false);
        } catch (const std::logic_error&) {
            rejected.set_value(true);
        }
    });
    EXPECT_TRUE(rejected.get_future().get());
    std::stop_source stop;
    std::thread running{[&] { cron.run(stop.get_token()); }};
    EXPECT_TRUE(one.seen.wait_for(1));
    stop.request_stop();
    running.join();
}

// Goal: the end of `locks` is that of its schedulers, which may be destroyed after it. Method: one
// runs while the locks go, with a body that waits for its stop.
TEST(Scheduler, TheEndOfItsLocksStopsIt) {
    schedule_world one;
    auto a = std::make_unique<locks>(one.open());
    std::latch begun{1};
    std::atomic<bool> returned{false};
    const job patient{.name = "j", .lease = brief, .body = [&](const run& now) {
                          begun.count_down();
                          wait_for_stop(now.stop);
                          returned = true;
                      }};
    scheduler cron{*a, {.shutdown_grace = 0ms}};
    cron.add(patient, each_second);
    std::thread running{[&] { cron.run({}); }};
    begun.wait();
    a.reset();
    EXPECT_TRUE(returned);
    running.join();
    EXPECT_TRUE(cron.remove("j"));
    EXPECT_THROW(cron.add(patient, each_second), store_error);
    EXPECT_THROW(cron.run({}), store_error);
}

// The same in a context of the program's: its thread schedules, and ends all before the scheduler.
TEST(Scheduler, RunsInTheContextOfItsProgram) {
    schedule_world one;
    boost::asio::io_context host{1};
    auto a = std::make_unique<locks>(one.open({.executor = host.get_executor()}));
    scheduler cron{*a};
    cron.add(one.note("j", "a"), each_second);
    std::stop_source stop;
    auto program = [&]() -> boost::asio::awaitable<void> {
        co_await cron.async_run(stop.get_token());
        co_await a->async_close();
    };
    boost::asio::co_spawn(host, program(), [](const std::exception_ptr& error) {
        if (error) std::rethrow_exception(error);
    });
    std::thread enough{[&] {
        EXPECT_TRUE(one.seen.wait_for(1));
        stop.request_stop();
    }};
    host.run();
    enough.join();
    EXPECT_TRUE(cron.remove("j"));
}

// Goal: what a child inherits says so, and touches nothing of its parent. Method: a child that
// calls all of it.
TEST(Scheduler, InTheChildOfAForkItIsDead) {
    schedule_world one;
    auto a = one.open();
    scheduler cron{a};
    const auto what = one.note("j", "a");
    cron.add(what, each_second);
    const auto child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        // Whatever hangs is a failure too.
        alarm(30);
        const auto alive = [](const auto& call) {
            try {
                call();
            } catch (const std::logic_error& error) {
                return std::string{error.what()}.find("fork()") == std::string::npos ? 1 : 0;
            }
            return 1;
        };
        _exit(alive([&] {
                  cron.add({.name = "k", .lease = brief, .body = what.body}, each_second);
              }) +
              alive([&] { cron.remove("j"); }) + alive([&] { static_cast<void>(cron.next("j")); }) +
              alive([&] { cron.run({}); }));
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_TRUE(cron.next("j"));
}

TEST(Scheduler, AShutdownGraceHasItsBounds) {
    schedule_world one;
    for (const auto grace : {millis{-1}, millis::max()})
        EXPECT_THROW(static_cast<void>(one.node("a", {.shutdown_grace = grace})), option_error);
}

// Claims nothing more, lets finish while the lease is renewed, releases: in that order.
TEST(Scheduler, AStopLetsARunFinishUnderItsLease) {
    schedule_world one;
    auto a = one.node("a", {.shutdown_grace = 1min});
    auto other = one.open();
    // A machine that stands still for two thirds of it ends it.
    const lease_options short_lived{.ttl = 8s, .grace = 0ms};
    a->cron.add(one.note_and("j", "a", short_lived,
                             [&](const run& now) {
                                 a->request_stop();
                                 // Twice as long as it would live without renewals.
                                 EXPECT_TRUE(rejected(other.acquire("j", short_lived, 16s)));
                                 EXPECT_FALSE(now.stop.stop_requested());
                             }),
                each_second);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(1));
    a->stop();
    EXPECT_EQ(one.seen.size(), 1u);
    EXPECT_EQ(one.rows("j", run_status::completed).size(), 1u);
    EXPECT_TRUE(other.try_acquire("j", short_lived));
}

// A stubborn body is waited for, and its key stays its own until it has returned.
TEST(Scheduler, AStopWaitsForABodyThatDoesNotHeedItsToken) {
    schedule_world one;
    auto a = one.node("a", {.shutdown_grace = 0ms});
    auto other = one.open();
    // A machine that stands still for two thirds of it ends it.
    const lease_options short_lived{.ttl = 8s, .grace = 0ms};
    a->cron.add(one.note_and("j", "a", short_lived,
                             [&](const run& now) {
                                 a->request_stop();
                                 wait_for_stop(now.stop);
                                 EXPECT_TRUE(rejected(other.acquire("j", short_lived, 14s)));
                             }),
                each_second);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(1));
    a->stop();
    EXPECT_EQ(one.rows("j", run_status::cancelled).size(), 1u);
    EXPECT_TRUE(other.try_acquire("j", short_lived));
}

// The key is the job's name, so that both ways to run it exclude each other.
TEST(Scheduler, SharesItsKeyWithLocksRun) {
    schedule_world one;
    auto a = one.node("a");
    a->cron.add(one.note("invoices/nightly", "a"), each_second);
    auto by_hand = one.open();
    const job same{.name = "invoices/nightly", .lease = brief, .body = [&](const run&) {
                       a->start();
                       EXPECT_TRUE(eventually([&] {
                           return !one.rows("invoices/nightly", run_status::skipped).empty();
                       }));
                       EXPECT_EQ(one.seen.size(), 0u);
                   }};
    EXPECT_EQ(by_hand.run(same), run_outcome::ran);
    EXPECT_TRUE(one.seen.wait_for(1));
}

}  // namespace
}  // namespace pawl
