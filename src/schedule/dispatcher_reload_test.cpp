// A dispatcher whose jobs change, at the very moment when it does something else with them.
#include "schedule/lone_node_fixture.hpp"
#include "time/clocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace pawl {
namespace {

const schedule_options at_new_year{.cron = "0 0 1 1 *", .zone = "UTC"};
const schedule_options the_day_after{.cron = "0 0 2 1 *", .zone = "UTC"};

// Goal: a reload while a node starts leaves no job without its place, or at its old one. Method: it
// comes when all that was known has its place, and the control state is read once more.
TEST(DispatcherReload, WhatAReloadDuringTheStartBringsHasItsPlace) {
    lone_node one;
    one.node->replace_jobs({one.plan("changed", at_new_year)});
    one.journal_faults->on_control_read = [&] {
        if (one.journal_faults->control_reads != 2) return;
        one.node->replace_jobs(
            {one.plan("changed", the_day_after), one.plan("new", the_day_after)});
    };
    std::vector<std::optional<time::wall_instant>> next;
    one.on_ready([&] {
        for (const auto* name : {"changed", "new"}) next.push_back(one.node->next_occurrence(name));
        one.stop.request_stop();
    });
    one.run();
    EXPECT_EQ(one.journal_faults->control_reads, 2);
    const auto rule = *one.plan("new", the_day_after)->when;
    const auto expected = rule.when.next(time::local_now(), rule.where, rule.policy);
    EXPECT_THAT(next, testing::ElementsAre(expected, expected));
}

// Goal: the others hear at once of a job that comes while the node tells them its jobs. Method: it
// comes when the first publication is on its way; the next one that is due anyway is a minute away.
TEST(DispatcherReload, AJobThatComesDuringAPublicationIsPublishedAtOnce) {
    lone_node one;
    one.node->replace_jobs({one.plan("old", at_new_year)});
    const auto begun = lease_clock::now();
    one.journal_faults->on_publication = [&] {
        if (one.journal_faults->publications == 1)
            one.node->replace_jobs({one.plan("new", at_new_year)});
        else
            one.stop.request_stop();
    };
    one.run();
    EXPECT_LT(lease_clock::now() - begun, 30s);
    EXPECT_TRUE(one.is_published("new"));
}

// Goal: a run is what its claim was, also where its job has changed since: at most once the store
// has it marked, and none would resume it. Method: the reload comes with the answer of the store.
TEST(DispatcherReload, AReloadBehindAClaimMakesItsRunNoOther) {
    lone_node one;
    auto again = each_second;
    again.delivery = delivery::at_least_once;
    one.node->replace_jobs({one.plan("j", each_second)});
    int grants = 0;
    one.store_hooks->after_acquire = [&](const result<acquire_result<grant>>& answer) {
        if (!answer.has_value() || !std::holds_alternative<grant>(*answer)) return;
        if (++grants == 1)
            one.node->replace_jobs({one.plan("j", again)});
        else
            one.stop.request_stop();
    };
    one.run();
    ASSERT_GE(one.seen.size(), 1u);
    EXPECT_EQ(one.run_of(one.seen.lines().front().what.id).delivery, delivery::at_most_once);
}

// Goal: a claim that was not answered is not forgotten as its job is remembered no more. Method:
// the reload comes while the answers to the claim of an occurrence are lost, for longer than
// one attempt asks; its lease would last for an hour.
TEST(DispatcherReload, AnUnansweredClaimIsWithdrawnAlsoWhereNothingIsRememberedAnyMore) {
    lone_node one;
    const auto once_a_day = daily_at(whole_second_in(8s));
    auto remembered = std::make_shared<schedule::job_plan>(*one.plan("j", once_a_day));
    remembered->lease.ttl = 1h;
    auto forgotten = std::make_shared<schedule::job_plan>(*remembered);
    forgotten->queue.delivery = delivery::off;
    one.node->replace_jobs({remembered});
    std::optional<instant> first;
    one.store_hooks->after_acquire = [&](result<acquire_result<grant>>& answer) {
        if (!answer.has_value() || !std::holds_alternative<grant>(*answer)) return;
        if (std::get<grant>(*answer).key != "j") return;
        if (!first) one.node->replace_jobs({forgotten});
        if (!first) first = lease_clock::now();
        if (lease_clock::now() < *first + one.settings.timeout * 2 + 1s)
            answer = failure{errc::outcome_unknown, "the answer was lost, as planned"};
    };
    one.store_hooks->after_release = [&](result<bool>&) {
        if (one.seen.size() > 0) one.stop.request_stop();
    };
    one.journal_faults->on_control_read = [&] {
        if (one.journal_faults->control_reads == 40) one.stop.request_stop();
    };
    one.run();
    EXPECT_GE(one.seen.size(), 1u) << "its key is still held";
}

// Goal: a job that is added before it is known where schedules stand misses nothing that comes due
// behind that. Method: the store is away from the start of a node until ten occurrences later.
TEST(DispatcherReload, WhatComesDueWhileTheStoreIsAwayIsNotPastForAJobThatIsNew) {
    schedule_world one;
    auto ears = std::make_shared<counting>();
    auto a = std::make_unique<scheduler_node>(one.open_without_journal(), "a",
                                              scheduler_options{.observer = ears});
    a->cron.add(one.note("old", "a"), at_new_year);
    one.faults->fail_all = errc::unreachable;
    a->start();
    ASSERT_TRUE(eventually([&] { return ears->ready == 1; }));
    auto in_turn = each_second;
    in_turn.overlap = overlap::queue;
    a->cron.add(one.note("new", "a"), in_turn);
    const auto back = time::local_now() + 10s;
    ASSERT_TRUE(eventually([&] { return time::local_now() > back; }));
    one.faults->fail_all = std::nullopt;
    ASSERT_TRUE(one.seen.wait_for(1));
    a->stop();
    EXPECT_LT(one.seen.occurrences().front(), back.time_since_epoch() / 1ms);
}

// Goal: a run is reached by its cancellation also where the run before it, of the same row, still
// works. Method: a body does not heed its token, its row is taken from it, and its job is removed
// and added again; then the first one returns.
TEST(DispatcherReload, ARunBesideTheOneItResumesIsReachedByItsCancellation) {
    std::atomic<int> begun{0}, returned{0};  // outlive the runs that count
    std::atomic<bool> first_may_end{false};
    schedule_world one;
    auto a = one.node("a");
    const auto due = whole_second_in(8s);
    const auto work = [&](const run& now) {
        if (++begun == 1)
            EXPECT_TRUE(eventually([&] { return first_may_end.load(); }));
        else
            wait_for_stop(now.stop);
        ++returned;
    };
    const auto job = one.note_and("j", "a", brief_at_least_once, work);
    a->cron.add(job, daily_at(due));
    a->start();
    ASSERT_TRUE(one.seen.wait_for(1));
    const auto first = one.seen.lines().front().what;
    // Its lease ends, and another node judges the row.
    one.faults->renewals_to_fail = 1'000'000;
    run_end judged;
    judged.status = run_status::abandoned;
    ASSERT_TRUE(one.ask([&] { return one.records->finish({first.id, first.token}, judged); }));
    ASSERT_TRUE(eventually([&] {
        const auto held = a->its_locks().inspect("j");
        return held && held->remaining.count() == 0;
    }));
    one.faults->renewals_to_fail = 0;
    EXPECT_TRUE(a->cron.remove("j"));
    ASSERT_TRUE(eventually([&] { return !one.ask([&] { return one.records->find_job("j"); }); }));
    a->cron.add(job, daily_at(due));
    ASSERT_TRUE(one.seen.wait_for(2));
    ASSERT_EQ(one.seen.lines().back().what.id, first.id);
    first_may_end = true;
    ASSERT_TRUE(eventually([&] { return returned == 1; }));
    ASSERT_TRUE(has_read_the_control_state(one));
    EXPECT_TRUE(one.ask([&] { return one.records->request_cancel(first.id, "a test"); }));
    EXPECT_TRUE(eventually([&] { return returned == 2; }));
    a->stop();
}

// Goal: a job that the journal will never take keeps no other from being published. Method: its
// definition is longer than any may be.
TEST(DispatcherReload, AJobThatTheJournalRejectsKeepsNoOtherOutOfIt) {
    lone_node one;
    auto large = std::make_shared<schedule::job_plan>(*one.plan("large", at_new_year));
    large->entry.definition = std::string(std::size_t{65} * 1024, 'x');
    one.node->replace_jobs({one.plan("a", at_new_year), large, one.plan("z", at_new_year)});
    one.on_ready([&] { one.stop.request_stop(); });
    one.run();
    EXPECT_TRUE(one.is_published("a"));
    EXPECT_TRUE(one.is_published("z"));
    EXPECT_FALSE(one.is_published("large"));
    EXPECT_THAT(one.warnings(),
                testing::Contains(testing::StartsWith("job not published job=large: ")));
}

// Goal: a journal that takes no job at all is not asked for each of them. Method: it rejects them,
// and counts what it is told.
TEST(DispatcherReload, AJournalThatRejectsAllJobsIsNotAskedForEach) {
    lone_node one;
    one.journal_faults->fail_publish = errc::rejected;
    std::vector<std::shared_ptr<const schedule::job_plan>> many;
    for (int i = 0; i < 400; ++i) many.push_back(one.plan("j" + std::to_string(i), at_new_year));
    one.node->replace_jobs(many);
    one.on_ready([&] { one.stop.request_stop(); });
    one.run();
    EXPECT_LT(one.journal_faults->publications, 100);
    EXPECT_LT(one.warnings().size(), 50u);
}

// Goal: what came due under the keys that a job had is not run under those that it gets. Method:
// the node stands still over two seconds, each of them due, and hears of a reload before it looks.
TEST(DispatcherReload, WhatCameDueBeforeNewPartitionsIsNotTheirs) {
    lone_node one;
    auto split = each_second;
    split.partitions = 2;
    one.node->replace_jobs({one.plan("j", each_second)});
    std::int64_t replaced = 0;
    one.on_ready([&] {
        if (replaced != 0) return;
        const auto until = whole_second_in(2s);
        while (time::local_now() < until) continue;
        replaced = std::chrono::floor<millis>(time::local_now().time_since_epoch()).count();
        one.node->replace_jobs({one.plan("j", split)});
    });
    one.store_hooks->after_acquire = [&](const result<acquire_result<grant>>& answer) {
        if (!answer.has_value() || !std::holds_alternative<grant>(*answer)) return;
        if (std::get<grant>(*answer).key == "j/1") one.stop.request_stop();
    };
    one.run();
    ASSERT_GE(one.seen.size(), 1u);
    for (const auto& line : one.seen.lines()) {
        const auto run = one.run_of(line.what.id);
        if (run.key == "j") continue;
        EXPECT_GE(number(*run.occurrence), replaced) << run.key;
    }
}

}  // namespace
}  // namespace pawl
