// Several schedulers over one store: what becomes of occurrences when nodes come, go, and lose
// touch.
#include "schedule/dispatcher_fixture.hpp"
#include "schedule/timing/timetable.hpp"
#include "time/clocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <set>

namespace pawl {
namespace {

// Two nodes, of which one leaves: every occurrence runs once, and none is lost with it. Of those
// that came due while a busy machine held a node up only the latest runs, so they are rare.
TEST(Dispatcher, EachOccurrenceRunsOnceAndAHandOverLosesNone) {
    schedule_world one;
    auto a = one.node("a"), b = one.node("b");
    for (auto* each : {&*a, &*b}) {
        each->cron.add(one.note("j", each->name()), {.cron = "*/6 * * * * *"});
        each->start();
    }
    ASSERT_TRUE(one.seen.wait_for(2));
    a->stop();
    const auto before = one.seen.size();
    ASSERT_TRUE(one.seen.wait_for(before + 2));
    b->stop();
    const auto occurrences = one.seen.occurrences();
    for (std::size_t i = 1; i < occurrences.size(); ++i)
        EXPECT_EQ(occurrences[i] - occurrences[i - 1], 6'000) << "after " << occurrences[i - 1];
    const auto rows = one.rows("j");
    EXPECT_EQ(rows.size(), one.seen.size());
    for (const auto& row : rows) {
        EXPECT_EQ(row.status, run_status::completed);
        EXPECT_EQ(row.trigger, "schedule");
        EXPECT_NE(number(row.token), 0u);
    }
}

// Goal: sums over nodes count a skipped occurrence once. Method: two nodes, and a first run that
// outlasts two occurrences, which both of them see. What one has skipped as the run ended, the
// other may run.
TEST(Dispatcher, AnOccurrenceThatTwoNodesSkipIsToldOnce) {
    struct listening : schedule_observer {
        std::mutex mutex;
        std::multiset<occurrence> skipped;
        void on_skipped(std::string_view, pawl::occurrence occurrence, std::string_view) override {
            const std::lock_guard lock{mutex};
            skipped.insert(occurrence);
        }
    };
    schedule_world one;
    const auto skipped_rows = [&] {
        auto rows = one.rows("j");
        std::erase_if(rows, [](const auto& row) { return row.status != run_status::skipped; });
        return rows;
    };
    auto ears = std::make_shared<listening>();
    std::atomic<bool> is_first{true};  // outlives the runs that ask it
    auto a = one.node("a", {.observer = ears}), b = one.node("b", {.observer = ears});
    const auto outlast = [&](const run&) {
        if (!is_first.exchange(false)) return;
        EXPECT_TRUE(eventually([&] { return skipped_rows().size() >= 2; }));
    };
    for (auto* each : {&*a, &*b}) {
        each->cron.add(one.note_and("j", each->name(), brief, outlast), each_second);
        each->start();
    }
    ASSERT_TRUE(one.seen.wait_for(2));
    a->stop();
    b->stop();
    EXPECT_GE(ears->skipped.size(), 2u);
    for (const auto occurrence : ears->skipped) EXPECT_EQ(ears->skipped.count(occurrence), 1u);
    for (const auto& row : skipped_rows()) EXPECT_EQ(ears->skipped.count(*row.occurrence), 1u);
}

// Goal: what overlaps is skipped by each of several nodes, also where it might be run again if it
// had begun. Method: a run outlasts the occurrences of some seconds; the store takes none that is
// more than a second early, so the key was plainly acquired for another one. The second node has
// room, or has none until that run is over.
void expect_overlaps_skipped(bool second_has_room) {
    std::atomic<bool> may_end{false};  // outlives the runs that ask it
    schedule_world one;
    const lease_options lasting{.ttl = 30s, .delivery = delivery::at_least_once, .grace = 0ms};
    one.settings.max_skew = 1s;
    const auto wait = [&](const run&) { EXPECT_TRUE(eventually([&] { return may_end.load(); })); };
    auto a = one.node("a"), b = one.node("b", {.max_concurrent_runs = 1});
    if (!second_has_room)
        b->cron.add(one.note_and("full", "b", {.ttl = 60s, .grace = 0ms}, wait), each_second);
    b->start();
    if (!second_has_room) {
        ASSERT_TRUE(one.seen.wait_for(1));
    }
    const auto begun = one.seen.size();
    a->cron.add(one.note_and("j", "a", lasting, wait), each_second);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(begun + 1));
    b->cron.add(one.note_and("j", "b", lasting, wait), each_second);
    const auto held = a->its_locks().inspect("j");
    ASSERT_TRUE(held.has_value());
    // But for what the key may have been acquired for.
    const auto until = held->acquired_at + 1'000, last = until + 8'000;
    const auto skipped = [&](std::int64_t from, std::int64_t to) {
        return std::ranges::count_if(one.rows("j", run_status::skipped), [&](const auto& row) {
            return number(*row.occurrence) > from && number(*row.occurrence) <= to;
        });
    };
    // For so long no node asks whether others have skipped what is due. Of what comes due while the
    // machine stands still only the latest has a row.
    const auto tolerated = schedule::lateness_tolerated.count();
    ASSERT_TRUE(eventually(
        [&] { return skipped(until, last) >= 3 && skipped(last + tolerated, last + 60'000) > 0; }));
    may_end = true;
    ASSERT_TRUE(eventually([&] {
        return std::ranges::any_of(one.seen.lines(), [&](const auto& line) {
            return line.what.key == "j" && number(*line.what.occurrence) > last;
        });
    }));
    a->stop();
    b->stop();
    for (const auto& line : one.seen.lines()) {
        const auto ran = number(*line.what.occurrence);
        EXPECT_TRUE(line.what.key != "j" || ran <= until || ran > last) << ran;
    }
}

TEST(Dispatcher, AtLeastOnceWhatOverlapsIsSkippedByAllNodes) { expect_overlaps_skipped(true); }
TEST(Dispatcher, AtLeastOnceWhatOverlapsIsSkippedByANodeWithoutRoom) {
    expect_overlaps_skipped(false);
}

// Goal: no maintenance costs an occurrence that may wait. Method: a client holds the key for longer
// than any occurrence may be early, and lets go of it some seconds behind the due time.
TEST(Dispatcher, AtLeastOnceALockThatIsNoRunIsWaitedFor) {
    schedule_world one;
    one.settings.max_skew = 1s;
    auto other = one.open();
    auto held = other.try_acquire("j", {.ttl = 60s});
    ASSERT_TRUE(held);
    const auto due = whole_second_in(10s);
    auto a = one.node("a");
    a->cron.add(one.note("j", "a", brief_at_least_once), daily_at(due));
    a->start();
    ASSERT_TRUE(eventually([&] { return time::local_now() > due + 3s; }));
    EXPECT_TRUE(one.rows("j", run_status::skipped).empty());
    EXPECT_EQ(held->release(), release_outcome::released);
    EXPECT_TRUE(one.seen.wait_for(1));
    a->stop();
    EXPECT_EQ(one.seen.occurrences(), only(due));
}

TEST(Dispatcher, PartitionsAreSpreadOverTheNodesAndEachRunsOnce) {
    schedule_world one;
    auto split = each_second;
    split.partitions = 4;
    auto a = one.node("a"), b = one.node("b");
    for (auto* each : {&*a, &*b}) {
        each->cron.add(one.note("j", each->name()), split);
        each->start();
    }
    // Of some occurrence each of the two has run two; that takes until they have seen each other.
    using share = std::map<std::string, std::set<std::uint32_t>>;
    const auto fair = [&] {
        std::map<std::int64_t, share> by_occurrence;
        for (const auto& line : one.seen.lines())
            by_occurrence[number(*line.what.occurrence)][line.node].insert(line.what.partition);
        return std::any_of(by_occurrence.begin(), by_occurrence.end(), [](const auto& one_of) {
            const auto& [occurrence, shares] = one_of;
            return shares.size() == 2 && shares.begin()->second.size() == 2 &&
                   shares.rbegin()->second.size() == 2;
        });
    };
    ASSERT_TRUE(eventually(fair));
    a->stop();
    b->stop();
    std::set<std::pair<std::int64_t, std::uint32_t>> ran;
    for (const auto& line : one.seen.lines()) {
        EXPECT_TRUE(ran.emplace(number(*line.what.occurrence), line.what.partition).second);
        EXPECT_EQ(line.what.key, "j/" + std::to_string(line.what.partition));
        EXPECT_EQ(line.what.partition_count, 4u);
    }
}

// Goal: at most as many runs as there are slots over all nodes, each occurrence in one of them, in
// turn. Method: two nodes and two slots; the first runs outlast the next turn of their slots, which
// is skipped. What one node has skipped as a run ended, the other may run: its row is gone then.
TEST(Dispatcher, SlotsBoundTheRunsOfAllNodesAndTakeTurns) {
    schedule_world one;
    const auto skipped = [&] { return one.rows("j", run_status::skipped); };
    std::atomic<int> going{0}, most{0};
    std::array<std::atomic<bool>, 2> was_skipped{};
    const auto outlast = [&](const run&) {
        const int many = ++going;
        for (int seen = most; seen < many && !most.compare_exchange_weak(seen, many);) {
        }
        EXPECT_TRUE(eventually([&] {
            for (const auto& row : skipped()) was_skipped.at(row.partition) = true;
            return most >= 2 && was_skipped[0] && was_skipped[1];
        }));
        --going;
    };
    auto two = each_second;
    two.slots = 2;
    auto a = one.node("a"), b = one.node("b");
    for (auto* each : {&*a, &*b}) {
        each->cron.add(one.note_and("j", each->name(), brief, outlast), two);
        each->start();
    }
    ASSERT_TRUE(one.seen.wait_for(5));
    a->stop();
    b->stop();
    EXPECT_EQ(most, 2);
    const auto occurrences = one.seen.occurrences();
    EXPECT_EQ(std::adjacent_find(occurrences.begin(), occurrences.end()), occurrences.end());
    const auto turn_of = [](occurrence which, std::uint32_t slot) {
        return (number(which) / 1'000 + slot) % 2;
    };
    std::set<std::int64_t> turns;
    for (const auto& line : one.seen.lines()) {
        turns.insert(turn_of(*line.what.occurrence, line.what.partition));
        EXPECT_EQ(line.what.key, "j/" + std::to_string(line.what.partition));
        EXPECT_EQ(line.what.partition_count, 2u);
    }
    for (const auto& row : skipped()) turns.insert(turn_of(*row.occurrence, row.partition));
    EXPECT_EQ(turns.size(), 1u);
}

// Whichever number of slots there was when it was queued, a manual run is all of the work.
TEST(Dispatcher, AManualRunOfAJobWithSlotsRunsInOneOfThem) {
    schedule_world one;
    schedule_options two;
    two.slots = 2;
    auto a = one.node("a");
    a->cron.add(one.note("j", "a"), two);
    a->start();
    run_trigger what;
    what.id = "00000000-0000-4000-8000-000000000005";
    what.job = "j";
    what.partition = 5;
    what.by = "a test";
    ASSERT_TRUE(one.ask([&] { return one.records->add_trigger(what); }));
    ASSERT_TRUE(eventually([&] {
        const auto rows = one.rows("j", run_status::completed);
        return rows.size() == 1;
    }));
    a->stop();
    EXPECT_EQ(one.seen.lines().front().what.key, "j/1");
    EXPECT_EQ(one.seen.size(), 1u);
}

TEST(Dispatcher, FailOpenRunsWithoutATokenAndIsAudited) {
    schedule_world one;
    auto ears = std::make_shared<counting>();
    auto down = std::make_shared<testing_faults::plan>();
    auto a = std::make_unique<scheduler_node>(one.open_node(down, one.journal_faults), "a",
                                              scheduler_options{.observer = ears});
    auto open = each_second;
    open.on_store_down = outage::run_without_lease;
    a->cron.add(one.note("j", "a"), open);
    a->cron.add(one.note("closed", "a"), each_second);
    a->start();
    ASSERT_TRUE(eventually([&] { return ears->ready == 1; }));
    const auto unleased = [&] {
        const auto lines = one.seen.lines();
        return std::any_of(lines.begin(), lines.end(),
                           [](const auto& line) { return number(line.what.token) == 0; });
    };
    // A store that answers is no outage, though it vouches for nothing that it writes.
    down->failures_answered = true;
    down->fail_all = errc::outcome_unknown;
    const auto since = down->operations.load();
    ASSERT_TRUE(eventually([&] { return down->operations > since + 4; }));
    EXPECT_FALSE(unleased());
    EXPECT_EQ(ears->fail_open, 0);
    down->failures_answered = false;
    down->fail_all = errc::unreachable;
    ASSERT_TRUE(eventually(unleased));
    EXPECT_GE(ears->fail_open, 1);
    ASSERT_TRUE(eventually([&] {
        const auto told = one.ask([&] { return one.records->list_audit(0, 10); });
        return !told.empty() && told.front().action == "job.fail_open" &&
               told.front().target == "j";
    }));
    for (const auto& line : one.seen.lines())
        EXPECT_TRUE(number(line.what.token) != 0 || line.what.key == "j");
}

// A node that has started, with a job that runs each second, without a lease if it has to.
std::unique_ptr<scheduler_node> ready_to_fail_open(schedule_world& one,
                                                   const std::shared_ptr<counting>& ears) {
    auto made = one.node("a", {.observer = ears});
    auto open = each_second;
    open.on_store_down = outage::run_without_lease;
    made->cron.add(one.note("j", "a"), open);
    made->start();
    EXPECT_TRUE(eventually([&] { return ears->ready == 1; }));
    return made;
}

// Goal: an outage that begins with a claim on its way keeps no later occurrence from running.
// Method: no claim is answered, nor a withdrawal of one; each occurrence runs.
TEST(Dispatcher, FailOpenContinuesWhileAClaimCannotBeWithdrawn) {
    schedule_world one;
    one.settings.timeout = 100ms;
    auto ears = std::make_shared<counting>();
    auto a = ready_to_fail_open(one, ears);
    one.faults->fail_all = errc::outcome_unknown;
    EXPECT_TRUE(eventually([&] { return ears->fail_open >= 4; }));
    one.faults->fail_all = std::nullopt;
    const auto before = one.seen.size();
    EXPECT_TRUE(one.seen.wait_for(before + 2));
    a->stop();
    EXPECT_NE(number(one.seen.lines().back().what.token), 0u);
}

// Goal: runs without a lease do not crowd a journal that is away, perhaps with the store, and each
// of them is in the audit when it is back. Method: both are away for ten of them.
TEST(Dispatcher, FailOpenIsAuditedWhenTheJournalIsBack) {
    schedule_world one;
    auto ears = std::make_shared<counting>();
    auto a = ready_to_fail_open(one, ears);
    const auto since = lease_clock::now();
    one.journal_faults->fail_all = errc::unreachable;
    one.faults->fail_all = errc::unreachable;
    ASSERT_TRUE(eventually([&] { return ears->fail_open >= 10; }));
    // At once, and every five seconds, however long ten of them took.
    const auto taken = std::chrono::duration_cast<std::chrono::seconds>(lease_clock::now() - since);
    EXPECT_LE(one.journal_faults->audits, taken / 5s + 2);
    EXPECT_LT(one.journal_faults->audits, ears->fail_open);
    one.faults->fail_all = std::nullopt;
    one.journal_faults->fail_all = std::nullopt;
    EXPECT_TRUE(eventually([&] {
        const auto told = one.ask([&] { return one.records->list_audit(0, 100); });
        return std::ranges::count(told, "job.fail_open", &audit_entry::action) >= 10;
    }));
}

// Goal: one run without a lease is one entry of the audit. Method: the answers to the first entries
// are lost, so that they are told again.
TEST(Dispatcher, FailOpenIsAuditedOnceThoughAnAnswerIsLost) {
    schedule_world one;
    auto ears = std::make_shared<counting>();
    auto a = ready_to_fail_open(one, ears);
    one.journal_faults->audits_to_lose = 2;
    one.faults->fail_all = errc::unreachable;
    ASSERT_TRUE(eventually([&] { return ears->fail_open >= 2; }));
    one.faults->fail_all = std::nullopt;
    const auto runs = [&] { return static_cast<std::size_t>(ears->fail_open); };
    const auto entries = [&] {
        std::multiset<std::string> details;
        for (const auto& told : one.ask([&] { return one.records->list_audit(0, 100); }))
            if (told.action == "job.fail_open") details.insert(told.detail);
        return details;
    };
    const auto each_is_told = [&] {
        const auto all = entries();
        return std::set<std::string>(all.begin(), all.end()).size() >= runs();
    };
    ASSERT_TRUE(eventually(each_is_told));
    a->stop();
    EXPECT_EQ(one.journal_faults->audits_to_lose, 0);
    EXPECT_EQ(entries().size(), runs());
}

// Goal: what has run without its lease is not given back. Method: its claim took effect and was
// not answered; without a journal only the store keeps it from running on the node that starts
// next.
TEST(Dispatcher, FailOpenGivesNothingBackThatHasRun) {
    schedule_world one;
    one.settings.timeout = 100ms;
    one.faults->answers_to_lose = 1'000'000;
    const auto due = whole_second_in(15s);
    auto once = daily_at(due);
    once.on_store_down = outage::run_without_lease;
    auto a = std::make_unique<scheduler_node>(one.open_without_journal(), "a");
    a->cron.add(one.note("j", "a"), once);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(1));
    EXPECT_EQ(number(one.seen.lines().front().what.token), 0u);
    one.faults->answers_to_lose = 0;
    a->stop();
    auto b = std::make_unique<scheduler_node>(one.open_without_journal(), "b");
    b->cron.add(one.note("j", "b"), once);
    b->cron.add(one.note("mark", "b"), each_second);
    b->start();
    ASSERT_TRUE(one.seen.wait_for(3));
    b->stop();
    const auto lines = one.seen.lines();
    EXPECT_EQ(std::ranges::count(lines, "j", [](const auto& line) { return line.what.key; }), 1);
}

// Goal: what another node has skipped does not run on one that had no room for it until then.
// Method: the only place of a node is taken when an occurrence comes due, and the next one; another
// node records that it has skipped the second, and the place is free long after that.
TEST(Dispatcher, WhatOthersHaveSkippedWhileThereWasNoRoomDoesNotRun) {
    std::atomic<bool> is_full{true};  // outlives the runs that ask it
    schedule_world one;
    auto a = one.node("a", {.max_concurrent_runs = 1});
    a->cron.add(
        one.note_and("full", "a", brief,
                     [&](const run&) { EXPECT_TRUE(eventually([&] { return !is_full; })); }),
        each_second);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(1));
    auto due = whole_second_in(10s);
    // Both within a minute.
    if (due - std::chrono::floor<std::chrono::minutes>(due) > 55s) due += 10s;
    auto twice = daily_at(due);
    const auto second = std::chrono::floor<millis>(due + 2s);
    twice.cron.insert(twice.cron.find(' '),
                      "," + daily_at(second).cron.substr(0, daily_at(second).cron.find(' ')));
    a->cron.add(one.note("j", "a"), twice);
    ASSERT_TRUE(eventually([&] { return time::local_now() > second + 100ms; }));
    run_start start{"skipped-elsewhere", "j", "j"};
    start.node = "b";
    start.occurrence = occurrence{second.time_since_epoch().count()};
    start.trigger = "schedule";
    ASSERT_TRUE(one.ask([&] { return one.records->skip(start, "an overlap on b"); }));
    ASSERT_TRUE(eventually([&] { return time::local_now() > second + 11s; }));
    is_full = false;
    ASSERT_TRUE(one.seen.wait_for(3));
    a->stop();
    for (const auto& line : one.seen.lines()) EXPECT_EQ(line.what.key, "full");
    EXPECT_EQ(one.run_of("skipped-elsewhere").status, run_status::skipped);
    // The second stood in the place of the first: both came due while there was no room.
    const auto rows = one.rows("j");
    EXPECT_TRUE(std::ranges::any_of(rows, [&](const auto& row) {
        return number(*row.occurrence) == only(due).front() && row.status == run_status::skipped &&
               row.reason.starts_with("a later occurrence came due");
    }));
}

// Goal: a node that stops waits for nothing that a job had in mind which is gone. Method: its claim
// was put off, by a store that grants nothing for a minute, when it was removed.
TEST(Dispatcher, WhatARemovedJobWaitedForHoldsUpNoStop) {
    schedule_world one;
    one.settings.quarantine = 60s;
    auto a = one.node("a", {.shutdown_grace = 120s});
    a->cron.add(one.note("j", "a"), each_second);
    a->start();
    ASSERT_TRUE(eventually([&] { return !one.rows("j", run_status::skipped).empty(); }));
    EXPECT_TRUE(a->cron.remove("j"));
    ASSERT_TRUE(eventually([&] { return !one.ask([&] { return one.records->find_job("j"); }); }));
    const auto begun = lease_clock::now();
    a->stop();
    EXPECT_LT(lease_clock::now() - begun, 30s);
}

// Goal: an outage around the commit of a claim costs no occurrence. Method: claims that take effect
// and whose answers are lost, for longer than a claim waits for one; the occurrence runs, once, and
// so does the next.
TEST(Dispatcher, AClaimThatIsNotAnsweredUsesNoOccurrenceUp) {
    schedule_world one;
    one.settings.timeout = 100ms;
    auto a = one.node("a");
    a->cron.add(one.note_and("j", "a", brief,
                             [&](const run&) {
                                 if (one.seen.size() == 1) one.faults->answers_to_lose = 12;
                             }),
                {.cron = "*/10 * * * * *"});
    a->start();
    ASSERT_TRUE(one.seen.wait_for(3));
    a->stop();
    EXPECT_EQ(one.faults->answers_to_lose, 0);
    const auto occurrences = one.seen.occurrences();
    EXPECT_EQ(occurrences[1] - occurrences[0], 10'000);
    EXPECT_EQ(occurrences[2] - occurrences[1], 10'000);
    for (const auto& row : one.rows("j")) EXPECT_EQ(row.status, run_status::completed);
}

// A job every five seconds on one node. The answers to the claims of its second occurrence are
// lost for a while, and another node records that it was skipped, so long after it was due.
struct skipped_elsewhere : schedule_world {
    std::vector<std::int64_t> run_with_a_row(millis after_due) {
        settings.timeout = 1s;
        auto a = node("a");
        constexpr int many = 1'000'000;
        const auto lose_answers = [&](const run&) {
            if (seen.size() == 1) faults->answers_to_lose = many;
        };
        a->cron.add(note_and("j", "a", brief, lose_answers), {.cron = "*/5 * * * * *"});
        a->start();
        EXPECT_TRUE(seen.wait_for(1));
        const auto second = millis{seen.occurrences().front()} + 5s;
        const auto reach = [](millis moment) {
            EXPECT_TRUE(eventually([&] { return time::local_now().time_since_epoch() >= moment; }));
        };
        reach(second + after_due);
        run_start start{"skipped-elsewhere", "j", "j"};
        start.node = "b";
        start.occurrence = occurrence{second.count()};
        start.trigger = "schedule";
        EXPECT_TRUE(ask([&] { return records->skip(start, "an overlap on b"); }));
        // The claim has taken effect, so that what is answered next is its repetition: others, such
        // as the reconciler's, lose their answers as well.
        auto looking = open();
        EXPECT_TRUE(eventually([&] {
            const auto held = looking.inspect("j");
            return held && held->last_done && number(*held->last_done) >= second.count();
        }));
        EXPECT_GT(faults->answers_to_lose.exchange(0), 0);
        EXPECT_TRUE(seen.wait_for(2));
        a->stop();
        return seen.occurrences();
    }
};

// Goal: what others have skipped while a claim of it was not answered does not run when the answer
// comes at last: the third one runs next.
TEST(Dispatcher, WhatOthersHaveSkippedWhileAClaimWasNotAnsweredDoesNotRun) {
    skipped_elsewhere one;
    const auto occurrences = one.run_with_a_row(0ms);
    EXPECT_EQ(occurrences[1] - occurrences[0], 10'000);
    EXPECT_EQ(one.run_of("skipped-elsewhere").status, run_status::skipped);
}

// Goal: a fast clock elsewhere takes no occurrence away. Method: the row was written before it was
// due, so the occurrence runs.
TEST(Dispatcher, WhatAFastClockHasSkippedBeforeItWasDueRuns) {
    skipped_elsewhere one;
    const auto occurrences = one.run_with_a_row(-4'500ms);
    EXPECT_EQ(occurrences[1] - occurrences[0], 5'000);
    EXPECT_EQ(one.run_of("skipped-elsewhere").status, run_status::completed);
}

// A run whose lease was taken is told so; at most once its occurrence is lost, and no node runs it.
TEST(Dispatcher, AtMostOnceALeaseThatIsLostEndsTheRunAsLost) {
    schedule_world one;
    auto operated = one.open();
    auto a = one.node("a");
    const lease_options long_enough{.ttl = 20s, .grace = 0ms};
    a->cron.add(one.note_and("j", "a", long_enough,
                             [&](const run& now) {
                                 if (one.seen.size() > 1) return;
                                 operated.force_release("j", now.token, 0ms);
                                 wait_for_stop(now.stop);
                             }),
                each_second);
    a->start();
    ASSERT_TRUE(one.seen.wait_for(2));
    a->stop();
    const auto lost = one.rows("j", run_status::lost);
    ASSERT_EQ(lost.size(), 1u);
    EXPECT_EQ(lost.front().id, one.seen.lines().front().what.id);
    EXPECT_THAT(lost.front().reason, testing::HasSubstr("its lease was lost (taken)"));
    const auto occurrences = one.seen.occurrences();
    EXPECT_EQ(std::adjacent_find(occurrences.begin(), occurrences.end()), occurrences.end());
}

// Goal: an occurrence whose node died between its grant and its row is told as lost, however few
// rows are kept; one that ran, and whose row was pruned since, is not. Method: both have left a
// mark at the store, no row of their own and a newer one. One of the nodes has signed off, and the
// other has become unresponsive. The keys are looked at in order, so the first was looked at
// before.
TEST(Dispatcher, ALostBeginningIsToldAndAPrunedRowIsNot) {
    schedule_world one;
    auto left = one.open(), crashed = one.open();
    const auto due = whole_second_in(8s);
    const occurrence which{only(due).front()};
    const lease_options marking{.ttl = 2s, .occurrence = which, .renew = renewal_mode::manual};
    const auto ran = left.try_acquire("a-left", marking);
    const auto lost = crashed.try_acquire("b-crashed", marking);
    ASSERT_TRUE(ran && lost);
    node_entry leaving, unresponsive;
    leaving.id = left.inspect("a-left")->owner;
    unresponsive.id = crashed.inspect("b-crashed")->owner;
    const auto beat = [&](const node_entry& node) {
        return one.looking.wait_for(one.records->node_heartbeat(node)).has_value();
    };
    // The third node hears them from its start.
    ASSERT_TRUE(beat(leaving) && beat(unresponsive));
    auto one_row = daily_at(due);
    one_row.keep_runs = 1;
    auto a = one.node("a");
    for (const auto* name : {"a-left", "b-crashed"}) a->cron.add(one.note(name, "a"), one_row);
    a->start();
    ASSERT_TRUE(eventually(
        [&] { return beat(leaving) && beat(unresponsive) && time::local_now() > due + 1s; }));
    for (const std::string name : {"a-left", "b-crashed"}) {
        run_start newer{"newer " + name, name, name};
        newer.occurrence = occurrence{number(which) - 86'400'000};
        newer.trigger = "schedule";
        ASSERT_TRUE(one.ask([&] { return one.records->skip(newer, "an overlap"); }));
    }
    ASSERT_TRUE(beat(unresponsive));
    ASSERT_TRUE(one.looking.wait_for(one.records->node_leave(leaving.id)).has_value());
    ASSERT_TRUE(eventually([&] { return !one.rows("b-crashed", run_status::lost).empty(); }));
    EXPECT_TRUE(one.rows("a-left", run_status::lost).empty());
    a->stop();
    EXPECT_EQ(one.rows("b-crashed", run_status::lost).front().occurrence, which);
    EXPECT_EQ(one.seen.size(), 0u);
}

}  // namespace
}  // namespace pawl
