// Schedulers whose store or journal loses one answer, or is away at the wrong moment.
#include "schedule/dispatcher_fixture.hpp"
#include "time/clocks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace pawl {
namespace {

constexpr int many = 1'000'000;

// What the test itself looks at the store with waits for longer than its nodes.
locks open_patient(schedule_world& one) {
    one.settings.timeout = 10s;
    return one.open();
}

// One node, and a job that runs without a lease in an outage. The claim of its first occurrence
// takes effect and is not answered. When the run that this begins ends, the next one waits already,
// and that claim is to be withdrawn first.
struct unanswered_claim : schedule_world {
    std::shared_ptr<counting> ears = std::make_shared<counting>();
    std::atomic<bool> is_first{true};
    millis grace = 10s;
    std::unique_ptr<scheduler_node> a;

    void start(std::function<void()> at_the_end) {
        settings.timeout = 1s;
        faults->answers_to_lose = many;
        a = node("a", {.shutdown_grace = grace, .observer = ears});
        auto open = each_second;
        open.on_store_down = outage::run_without_lease;
        open.overlap = overlap::queue;
        const lease_options long_lease{.ttl = 10min, .grace = 0ms};
        a->cron.add(note_and("j", "a", long_lease,
                             [this, at_the_end = std::move(at_the_end)](const run& now) {
                                 if (!is_first.exchange(false)) return;
                                 const auto due = millis{number(*now.occurrence)};
                                 EXPECT_TRUE(eventually([&] {
                                     return time::local_now().time_since_epoch() > due + 3s;
                                 }));
                                 faults->answers_to_lose = 0;
                                 at_the_end();
                             }),
                    open);
        a->start();
    }
};

// Goal: one answer of a withdrawal that is lost is no outage. Method: it is, and all else of the
// store is well: the next occurrence runs under a lease.
TEST(DispatcherOutage, AWithdrawalWithoutAnAnswerIsAskedForAgain) {
    unanswered_claim one;
    one.start([&] { one.faults->withdrawals_to_fail = 1; });
    ASSERT_TRUE(one.seen.wait_for(2));
    one.a->stop();
    EXPECT_EQ(one.faults->withdrawals_to_fail, 0);
    EXPECT_EQ(one.ears->fail_open, 1);
    const auto lines = one.seen.lines();
    EXPECT_EQ(number(lines.at(0).what.token), 0u);
    EXPECT_NE(number(lines.at(1).what.token), 0u);
}

// Goal: a claim that was not answered does not hold its key for its ttl because its node stops.
// Method: the node is told to stop while its withdrawal is under way, and that fails in an outage.
TEST(DispatcherOutage, AStopDuringAWithdrawalThatFailsLeavesNothingHeld) {
    unanswered_claim one;
    one.start([&] { one.faults->is_gone = true; });
    ASSERT_TRUE(eventually([&] { return one.faults->withdrawals == 1; }));
    one.a->request_stop();
    one.faults->fail_all = errc::unreachable;
    one.faults->is_gone = false;
    EXPECT_TRUE(eventually([&] { return one.faults->withdrawals > 1; }));
    one.faults->fail_all = std::nullopt;
    one.a->stop();
    EXPECT_EQ(one.ears->fail_open, 1);
    auto looking = open_patient(one);
    EXPECT_TRUE(eventually([&] {
        const auto held = looking.inspect("j");
        return held && held->remaining.count() == 0;
    }));
}

// Goal: what was to run without its lease, and did not begin, is given back with its claim. Method:
// its node is told to stop, at once, as it asks the journal for the beginning; that takes its time.
TEST(DispatcherOutage, WhatDidNotBeginWithoutItsLeaseIsGivenBack) {
    std::function<void()> stop;  // outlives the journal that calls it
    schedule_world one;
    one.settings.timeout = 100ms;
    one.faults->answers_to_lose = many;
    one.journal_faults->begin_delay = 1'500ms;
    one.journal_faults->on_begin = [&] {
        one.faults->answers_to_lose = 0;
        stop();
    };
    auto ears = std::make_shared<counting>();
    auto a = one.node("a", {.shutdown_grace = 0ms, .observer = ears});
    stop = [&] { a->request_stop(); };
    auto open = each_second;
    open.on_store_down = outage::run_without_lease;
    a->cron.add(one.note("j", "a", {.ttl = 10min}), open);
    a->start();
    ASSERT_TRUE(eventually([&] { return ears->fail_open == 1; }));
    a->stop();
    EXPECT_EQ(one.seen.size(), 0u);
    ASSERT_EQ(ears->fail_open, 1);
    auto looking = open_patient(one);
    EXPECT_TRUE(eventually([&] {
        const auto held = looking.inspect("j");
        return held && held->remaining.count() == 0;
    }));
    const auto rows = one.rows("j");
    ASSERT_FALSE(rows.empty());
    const auto known = looking.inspect("j");
    EXPECT_TRUE(!known->last_done || *known->last_done < *rows.back().occurrence);
}

// Goal: what the journal turns back is no run without a lease, and is not told as one. Method: the
// claim of an occurrence takes effect and is not answered, and another node has run it meanwhile.
TEST(DispatcherOutage, WhatAnotherNodeHasRunIsNotToldAsRunWithoutALease) {
    std::atomic<int> begins{0};  // outlives the journal that counts
    schedule_world one;
    one.settings.timeout = 100ms;
    one.journal_faults->on_begin = [&] { ++begins; };
    auto ears = std::make_shared<counting>();
    auto a = one.node("a", {.observer = ears});
    a->start();
    ASSERT_TRUE(eventually([&] { return ears->ready == 1; }));
    const auto due = whole_second_in(10s);
    run_start elsewhere{"elsewhere", "j", "j"};
    elsewhere.owner = elsewhere.node = "b";
    elsewhere.occurrence = occurrence{only(due).front()};
    elsewhere.trigger = "schedule";
    one.ask([&] { return one.records->begin(elsewhere); });
    run_end done;
    done.status = run_status::completed;
    ASSERT_TRUE(one.ask([&] { return one.records->finish({elsewhere.id, {}}, done); }));
    one.faults->answers_to_lose = many;
    auto open = daily_at(due);
    open.on_store_down = outage::run_without_lease;
    a->cron.add(one.note("j", "a", {.ttl = 10min}), open);
    ASSERT_TRUE(eventually([&] { return begins == 1; }));
    one.faults->answers_to_lose = 0;
    auto looking = open_patient(one);
    // Its claim is given back, and its mark stays.
    EXPECT_TRUE(eventually([&] {
        const auto held = looking.inspect("j");
        return held && held->remaining.count() == 0;
    }));
    a->stop();
    EXPECT_EQ(looking.inspect("j")->last_done, elsewhere.occurrence);
    EXPECT_EQ(one.seen.size(), 0u);
    EXPECT_EQ(ears->fail_open, 0);
    EXPECT_EQ(one.journal_faults->audits, 0);
    const auto rows = one.rows("j");
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows.front().id, elsewhere.id);
    EXPECT_EQ(rows.front().status, run_status::completed);
}

// Goal: what has run without its lease is not given back, as the next occurrence did not begin.
// Method: the outage goes on at the end of the first run; the second one's beginning takes its time
// in the journal, and the node is told to stop meanwhile.
TEST(DispatcherOutage, WhatHasRunIsNotGivenBackForTheNextThatDidNot) {
    unanswered_claim one;
    one.grace = 0ms;
    std::atomic<std::int64_t> ran{0};
    one.start([&] {
        ran = number(*one.seen.lines().at(0).what.occurrence);
        one.faults->fail_all = errc::unreachable;
        one.journal_faults->begin_delay = 1'500ms;
        one.journal_faults->on_begin = [&] {
            one.faults->fail_all = std::nullopt;
            one.a->request_stop();
        };
    });
    ASSERT_TRUE(eventually([&] { return one.ears->fail_open == 2; }));
    one.a->stop();
    EXPECT_EQ(one.seen.size(), 1u);
    auto looking = open_patient(one);
    const auto known = looking.inspect("j");
    ASSERT_TRUE(known && known->last_done);
    EXPECT_GE(number(*known->last_done), ran.load());
}

// Goal: after a loss of data nothing is told that did not happen. Method: data that are new, under
// a quarantine: what comes due until a minute after their birth counts as done, and nothing has
// run.
TEST(DispatcherOutage, WhatTheStoreMayHaveForgottenIsToldAsThat) {
    schedule_world one;
    one.settings.quarantine = 2s;
    auto a = one.node("a");
    const schedule_options at_times{.cron = "*/5 * * * * *"};
    a->cron.add(one.note("once", "a", {.ttl = 2s}), at_times);
    a->cron.add(one.note("again", "a", {.ttl = 2s, .delivery = delivery::at_least_once}), at_times);
    a->start();
    for (const auto* job : {"once", "again"}) {
        const auto skipped = [&] { return one.rows(job, run_status::skipped); };
        ASSERT_TRUE(eventually([&] { return !skipped().empty(); }));
        EXPECT_EQ(skipped().back().reason,
                  "the store may have lost whether it has run (quarantine)");
    }
    a->stop();
    EXPECT_EQ(one.seen.size(), 0u);
}

// A node that has told the journal its two jobs, of which one goes; the journal does not take that
// the next so many times.
struct job_that_goes : schedule_world {
    std::shared_ptr<counting> ears = std::make_shared<counting>();
    std::unique_ptr<scheduler_node> a;

    void start(int retires_to_fail) {
        journal_faults->retires_to_fail = retires_to_fail;
        a = node("a", {.observer = ears});
        for (const auto* name : {"gone", "kept"})
            a->cron.add(note(name, "a"), {.cron = "0 0 1 1 *"});
        a->start();
        ASSERT_TRUE(eventually([&] { return ears->ready == 1; }));
        EXPECT_TRUE(a->cron.remove("gone"));
    }
};

// Goal: a job that is gone leaves the list soon. Method: the journal does not take that the first
// time, and takes what the other jobs are.
TEST(DispatcherOutage, AJobThatWasNotTakenOffTheListIsTakenOffSoon) {
    job_that_goes one;
    one.start(1);
    const auto since = lease_clock::now();
    EXPECT_TRUE(
        eventually([&] { return !one.ask([&] { return one.records->find_job("gone"); }); }));
    EXPECT_LT(lease_clock::now() - since, 30s);
    EXPECT_EQ(one.journal_faults->retires_to_fail, 0);
    EXPECT_TRUE(one.ask([&] { return one.records->find_job("kept"); }));
}

// Goal: a journal that does not take a job off its list is asked again and is not told all jobs
// again with it. Method: it takes none off for some attempts, and counts what it is told.
TEST(DispatcherOutage, JobsThatStayAreNotToldAgainForOneThatGoes) {
    job_that_goes one;
    one.start(many);
    ASSERT_TRUE(eventually([&] { return one.journal_faults->retires_to_fail < many - 2; }));
    const int told = one.journal_faults->publications;
    EXPECT_TRUE(eventually([&] { return one.journal_faults->retires_to_fail < many - 5; }));
    EXPECT_EQ(one.journal_faults->publications, told);
}

}  // namespace
}  // namespace pawl
