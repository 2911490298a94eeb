#include "schedule/timing/timetable.hpp"

#include "time/rfc3339.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

namespace pawl::schedule {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t all = 1'000'000;

wall_instant at(const std::string& text) {
    const auto parsed = time::parse_rfc3339(text);
    EXPECT_TRUE(parsed) << text;
    return *parsed;
}

std::string text_of(wall_instant when) { return time::format_rfc3339(when); }

occurrence_rule rule_of(const std::string& expression, const std::string& zone_name = "UTC",
                        millis lateness_max = 1h) {
    const auto when = time::cron::parse(expression);
    const auto where = time::zone::find(zone_name);
    EXPECT_TRUE(when) << expression;
    EXPECT_TRUE(where) << zone_name;
    return {*when, *where, {}, lateness_max};
}

const auto noon = at("2026-11-21T12:00:00Z");
constexpr entry_id one = 1;

// All that one schedule hands out when it is looked at every `step`.
std::vector<due_occurrence> watch(timetable& table, wall_instant from, wall_instant to,
                                  millis step = 1s) {
    std::vector<due_occurrence> seen;
    for (auto now = from; now <= to; now += step)
        for (const auto& each : table.advance(now, all)) seen.push_back(each);
    return seen;
}

TEST(Timetable, TheMomentBeforeAnOccurrenceIsNone) {
    for (const auto* each : {"*/5 * * * *", "@every 10m"}) {
        EXPECT_TRUE(fires_at(rule_of(each), noon)) << each;
        EXPECT_FALSE(fires_at(rule_of(each), noon - 1ms)) << each;
        EXPECT_FALSE(fires_at(rule_of(each), noon + 1ms)) << each;
    }
}

TEST(Timetable, FiresWhenItIsTimeAndNotBefore) {
    timetable table;
    table.add(one, rule_of("*/5 * * * *"), noon, noon);
    EXPECT_EQ(table.next_due(), noon + 5min);
    EXPECT_EQ(table.next_of(one), noon + 5min);
    EXPECT_TRUE(table.advance(noon + 5min - 1us, all).empty());
    const auto due = table.advance(noon + 5min, all);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due[0].entry, one);
    EXPECT_EQ(due[0].at, noon + 5min);
    EXPECT_EQ(due[0].missed, 0U);
    EXPECT_TRUE(table.advance(noon + 5min, all).empty());
    EXPECT_EQ(table.next_due(), noon + 10min);
}

TEST(Timetable, TheEarliestComeFirstAndOfOneInstantTheLowestId) {
    timetable table;
    table.add(7, rule_of("30 12 * * *"), noon, noon);
    table.add(3, rule_of("30 12 * * *"), noon, noon);
    table.add(5, rule_of("10 12 * * *"), noon, noon);
    const auto due = table.advance(noon + 40min, all);
    ASSERT_EQ(due.size(), 3U);
    EXPECT_EQ(due[0].entry, 5U);
    EXPECT_EQ(due[1].entry, 3U);
    EXPECT_EQ(due[2].entry, 7U);
}

// Hangfire#1591: 300 runs at once after an outage.
TEST(Timetable, AnOutageEndsInOneOccurrenceAndANumber) {
    timetable table;
    table.add(one, rule_of("* * * * *"), noon, noon);
    const auto due = table.advance(noon + 5h + 30s, all);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due[0].at, noon + 5h);
    EXPECT_EQ(due[0].missed, 299U);
    EXPECT_EQ(table.next_due(), noon + 5h + 1min);
}

// kubernetes#42649: after a hundred misses it was stopped for good.
TEST(Timetable, NoNumberOfMissedOccurrencesStopsASchedule) {
    timetable table;
    table.add(one, rule_of("* * * * * *"), noon, noon);
    auto now = noon;
    for (const auto outage : {99s, 101s, 5000s, 86'400s * 365, 86'400s * 3650}) {
        now += outage;
        const auto due = table.advance(now, all);
        ASSERT_EQ(due.size(), 1U);
        EXPECT_EQ(due[0].at, now);
        EXPECT_EQ(due[0].missed, std::min<std::uint64_t>(
                                     static_cast<std::uint64_t>(outage.count()) - 1, missed_max));
        EXPECT_EQ(table.next_due(), now + 1s);
    }
}

// river#791: a weekly job never fired where deploys came more often, as each began to count anew.
TEST(Timetable, ASchedulePickedUpAtItsPositionFiresHoweverOftenItIsPickedUp) {
    const auto position = at("2026-11-16T09:00:00Z");
    auto now = position;
    std::vector<due_occurrence> seen;
    for (int deploy = 0; deploy < 30; ++deploy) {
        timetable table;
        table.add(one, rule_of("0 9 * * 1"), seen.empty() ? position : seen.back().at, now);
        now += 8h;
        for (const auto& each : table.advance(now, all)) seen.push_back(each);
    }
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].at, at("2026-11-23T09:00:00Z"));
}

TEST(Timetable, AnOccurrenceThatIsTooLateIsCountedAndNotHandedOut) {
    timetable table;
    table.add(one, rule_of("0 * * * *", "UTC", lateness_tolerated), noon, noon);
    EXPECT_TRUE(table.advance(noon + 3h + 10s + 1us, all).empty());
    EXPECT_EQ(table.next_due(), noon + 4h);
    const auto due = table.advance(noon + 4h + 10s, all);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due[0].at, noon + 4h);
    EXPECT_EQ(due[0].missed, 3U);
    EXPECT_EQ(table.advance(noon + 5h, all).at(0).missed, 0U);
}

// Of a burst that lies long ago the last one counts, found without looking at all of them.
TEST(Timetable, TheLatestOfABurstLongAgoIsFound) {
    timetable table;
    table.add(one, rule_of("* * 3 1 1 *", "UTC", 24h * 400), at("2020-01-01T00:00:00Z"), noon);
    const auto due = table.advance(noon, all);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due[0].at, at("2026-01-01T03:59:59Z"));
    EXPECT_EQ(due[0].missed, missed_max);
}

// Goal: the shortcut to the latest occurrence finds what walking finds. Method: walk, over
// expressions and zones whose clocks jump, between two moments that chance picks.
TEST(Timetable, TheShortcutFindsWhatWalkingFinds) {
    std::mt19937_64 random{1};
    const auto moment = [&](wall_instant from, std::chrono::seconds within) {
        return from + std::chrono::seconds{static_cast<std::int64_t>(
                          random() % static_cast<std::uint64_t>(within.count()))};
    };
    for (const auto* zone : {"UTC", "Europe/Paris", "Australia/Lord_Howe", "Pacific/Apia"}) {
        for (const auto* expression :
             {"*/7 * * * *", "30 2 * * *", "0 0 29 2 *", "15 1-3 * 3,4,9,10 *", "@every 90s"}) {
            const auto rule = rule_of(expression, zone, 24h * 36'500);
            for (int round = 0; round < 20; ++round) {
                const auto from = moment(at("2011-06-01T00:00:00Z"), 86'400s * 365);
                const auto now = moment(from, round % 2 == 0 ? 86'400s * 3 : 86'400s * 900);
                timetable table;
                table.add(one, rule, from, now);
                const auto due = table.advance(now, all);
                std::optional<wall_instant> latest;
                std::uint64_t count = 0;
                auto next = rule.when.next(from, rule.where);
                for (; next && *next <= now; next = rule.when.next(*next, rule.where)) {
                    latest = next;
                    ++count;
                }
                ASSERT_EQ(due.size(), latest ? 1U : 0U);
                if (latest) {
                    EXPECT_EQ(text_of(due[0].at), text_of(*latest)) << expression << ' ' << zone;
                    EXPECT_EQ(due[0].missed, std::min(count - 1, missed_max));
                }
                EXPECT_EQ(table.next_due(), next);
            }
        }
    }
}

TEST(Timetable, APositionInTheFutureCountsAsNow) {
    timetable table;
    table.add(one, rule_of("0 * * * *"), noon + 24h * 365, noon);
    EXPECT_EQ(table.next_due(), noon + 1h);
}

// What waits for a time by a clock that was an hour fast is due by the right one.
TEST(Timetable, AClockThatIsPutBackStallsNothing) {
    timetable table;
    table.add(one, rule_of("*/10 * * * *"), noon, noon);
    EXPECT_EQ(table.advance(noon + 1h, all).size(), 1U);
    table.clock_put_back(noon + 5min);
    EXPECT_EQ(table.next_due(), noon + 10min);
    const auto due = table.advance(noon + 10min, all);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due[0].at, noon + 10min);
}

// An hourly occurrence was due while the clock stood in another year.
TEST(Timetable, WhatCameDueWhileTheClockWasAheadIsNotLost) {
    timetable table;
    table.add(one, rule_of("0 * * * *"), noon - 1h, noon - 1h);
    EXPECT_EQ(table.advance(noon, all).size(), 1U);
    EXPECT_EQ(table.advance(noon + 24h * 365 * 50, all).size(), 1U);
    table.clock_put_back(noon + 65min, noon + 1min);
    const auto due = table.advance(noon + 65min, all);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due[0].at, noon + 1h);
}

// A node starts by a clock that is a year ahead: what it was added for is due by the right one.
TEST(Timetable, WhatCameDueBeforeAClockThatNeverWasRightIsNotLost) {
    timetable table;
    table.add(one, rule_of("*/10 * * * *"), noon, noon + 24h * 365);
    EXPECT_EQ(table.advance(noon + 24h * 365, all).size(), 1U);
    table.clock_put_back(noon + 15min, wall_instant::min());
    const auto due = table.advance(noon + 15min, all);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due[0].at, noon + 10min);

    table.add(2, rule_of("*/10 * * * *"), noon + 24h * 365, noon + 24h * 365);
    table.clock_put_back(noon + 15min, wall_instant::min());
    EXPECT_TRUE(table.advance(noon + 15min, all).empty()) << "that one knows nothing before it";
    EXPECT_EQ(table.next_of(2), noon + 20min);
}

// An occurrence that was handed out by the right clock is not handed out again.
TEST(Timetable, AStepBackRepeatsNothingThatLiesBeforeIt) {
    timetable table;
    table.add(one, rule_of("0 12 * * *"), noon - 1h, noon - 1h);
    EXPECT_EQ(table.advance(noon + 30min, all).size(), 1U);
    table.clock_put_back(noon + 10min);
    EXPECT_TRUE(table.advance(noon + 30min, all).empty());
    EXPECT_EQ(table.next_due(), noon + 24h);
}

// Goal: what lies before an entry was added is past for good, wherever the clock has been
// meanwhile. Method: it stands a year back for a moment; and an hour forward while an entry is
// added.
TEST(Timetable, AStepBackAndForthRepeatsNothingFromBeforeTheEntryWasAdded) {
    timetable table;
    table.add(one, rule_of("0 * * * *"), noon + 10min, noon + 10min);
    table.clock_put_back(noon - 24h * 365);
    EXPECT_TRUE(table.advance(noon - 24h * 365, all).empty());
    EXPECT_TRUE(table.advance(noon + 30min, all).empty());
    EXPECT_EQ(table.next_due(), noon + 1h);
    EXPECT_EQ(table.advance(noon + 1h, all).size(), 1U);

    timetable another;
    another.add(one, rule_of("*/10 * * * *"), noon + 1h, noon + 1h);
    another.clock_put_back(noon + 5min, noon);
    // By the right clock it is as new as that.
    EXPECT_EQ(another.advance(noon + 10min, all).size(), 1U);
    EXPECT_EQ(another.next_due(), noon + 20min);
}

// Goal: nothing from before a schedule was there is handed out. Method: the clock of a node that
// starts is ten minutes behind, then right; and since when there is a schedule is known late.
TEST(Timetable, WhatCameDueBeforeThereWasAScheduleIsNotItsOwn) {
    timetable table;
    table.add(one, rule_of("* * * * *"), noon, noon - 10min);
    EXPECT_TRUE(table.advance(noon, all).empty());
    EXPECT_EQ(table.next_due(), noon + 1min);

    table.add(2, rule_of("* * * * *"), noon - 10min, noon - 10min);
    table.not_before(2, noon - 1s, noon - 10min);
    EXPECT_EQ(table.advance(noon - 9min, all).size(), 1U) << "by a clock that is behind it is due";
    const auto due = table.advance(noon, all);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due[0].at, noon);
    EXPECT_EQ(due[0].missed, 0U);
    table.not_before(2, noon - 5min, noon);
    table.not_before(3, noon, noon);
    EXPECT_EQ(table.next_due(), noon + 1min);
}

// Goal: what came due before the journal had the schedule is never its own. Method: it was told by
// a right clock, which then goes a year back, where occurrences are due.
TEST(Timetable, AWrongClockBringsNothingFromBeforeTheScheduleWasThere) {
    timetable table;
    table.add(one, rule_of("0 * * * *"), noon, noon);
    table.not_before(one, noon, noon);
    const auto long_ago = noon - 24h * 365;
    table.clock_put_back(long_ago);
    EXPECT_TRUE(table.advance(long_ago + 5h, all).empty());
    EXPECT_EQ(table.next_due(), noon + 1h);
    EXPECT_EQ(table.advance(noon + 1h, all).size(), 1U);
}

// A node whose clock is ten minutes ahead takes up a schedule, and is put right: it does not wait
// for the time that it took for the present.
TEST(Timetable, WhatAWrongClockTookForTheBeginningIsForgottenWithIt) {
    timetable table;
    const auto ahead = noon + 10min;
    table.add(one, rule_of("* * * * *"), ahead - 1ms, ahead);
    table.not_before(one, noon, ahead + 3s);
    table.clock_put_back(noon + 3s, noon - 1h);
    EXPECT_EQ(table.next_due(), noon + 1min);
}

// The clock of a known schedule is put back, though it is added again meanwhile.
TEST(Timetable, WhatTheJournalToldOutlivesAnotherLookAtTheStore) {
    timetable table;
    table.add(one, rule_of("* * * * *"), noon, noon);
    table.not_before(one, noon, noon);
    table.add(one, rule_of("* * * * *"), noon, noon);
    table.clock_put_back(noon - 1h);
    EXPECT_EQ(table.next_due(), noon + 1min);
    table.add(one, rule_of("*/2 * * * *"), noon - 1h, noon - 1h);
    EXPECT_EQ(table.next_due(), noon - 58min) << "another schedule, of which nothing was told";
}

TEST(Timetable, AScheduleThatHasRunOutByAWrongClockLivesAgain) {
    timetable table;
    table.add(one, rule_of("0 * * * *"), noon, noon);
    table.advance(at("9999-12-31T23:59:59Z"), all);
    EXPECT_EQ(table.next_due(), std::nullopt);
    EXPECT_EQ(table.next_of(one), std::nullopt);
    EXPECT_TRUE(table.advance(at("9999-12-31T23:59:59.5Z"), all).empty());
    table.clock_put_back(noon + 30min);
    EXPECT_EQ(table.next_due(), noon + 1h);
}

// At most `limit` at a time, and the rest at once.
TEST(Timetable, ALimitPutsOffAndLosesNothing) {
    timetable table;
    for (entry_id i = 0; i < 100; ++i) table.add(i, rule_of("* * * * *"), noon, noon);
    std::map<entry_id, int> seen;
    for (int round = 0; round < 10; ++round) {
        EXPECT_LE(*table.next_due(), noon + 1min);
        const auto due = table.advance(noon + 1min, 10);
        EXPECT_EQ(due.size(), 10U);
        for (const auto& each : due) ++seen[each.entry];
    }
    EXPECT_EQ(seen.size(), 100U);
    EXPECT_EQ(table.next_due(), noon + 2min);
}

// A caller that calls again at next_due() never spins, whatever was due.
TEST(Timetable, WhatIsDueNextLiesAheadAfterEveryLook) {
    timetable table;
    const char* expressions[] = {"* * * * * *", "*/3 * * * *", "0 0 29 2 *", "@every 7s", "@daily"};
    entry_id id = 0;
    for (const auto* each : expressions)
        for (const auto late : {0ms, 10'000ms, 3'600'000ms})
            table.add(id++, rule_of(each, "Africa/Casablanca", late), noon, noon);
    std::mt19937_64 random{2};
    auto now = noon;
    for (int round = 0; round < 2000; ++round) {
        now += std::chrono::microseconds{random() % (round % 10 == 0 ? 86'400'000'000 : 3'000'000)};
        table.advance(now, all);
        ASSERT_GT(*table.next_due(), now);
    }
}

TEST(Timetable, ReplacesAndRemoves) {
    timetable table;
    table.add(one, rule_of("* * * * *"), noon, noon);
    table.add(one, rule_of("0 13 * * *"), noon, noon);
    EXPECT_EQ(table.size(), 1U);
    EXPECT_EQ(table.next_due(), noon + 1h);
    table.remove(one);
    table.remove(one);
    EXPECT_EQ(table.size(), 0U);
    EXPECT_EQ(table.next_due(), std::nullopt);
    EXPECT_EQ(table.next_of(one), std::nullopt);
}

// Goal: the heap keeps its order under every change. Method: chance adds, replaces, removes, steps
// and looks, beside a plain map that does the same.
TEST(Timetable, AgreesWithAPlainMapUnderEveryChange) {
    std::mt19937_64 random{3};
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    timetable table;
    std::map<entry_id, wall_instant> plain;
    std::map<entry_id, occurrence_rule> rules;
    std::vector<occurrence_rule> kinds;
    for (const auto* each :
         {"* * * * *", "*/5 * * * * *", "0 */2 * * *", "7 7 * * *", "@every 11s"})
        kinds.push_back(rule_of(each, "UTC", 24h * 365));
    auto now = noon;
    for (int round = 0; round < 5000; ++round) {
        const auto id = static_cast<entry_id>(below(64));
        const auto uniform = below(10);
        if (uniform < 4) {
            const auto& rule = kinds[below(kinds.size())];
            table.add(id, rule, now, now);
            rules.insert_or_assign(id, rule);
            plain[id] = *rule.when.next(now, rule.where);
        } else if (uniform < 5) {
            table.remove(id);
            plain.erase(id);
        } else {
            now += std::chrono::microseconds{below(20'000'000)};
            for (const auto& each : table.advance(now, all)) {
                ASSERT_LE(plain.at(each.entry), each.at);
                ASSERT_LE(each.at, now);
                const auto& rule = rules.at(each.entry);
                plain[each.entry] = *rule.when.next(each.at, rule.where);
            }
        }
        ASSERT_EQ(table.size(), plain.size());
        std::optional<wall_instant> least;
        for (const auto& [key, when] : plain) {
            ASSERT_EQ(table.next_of(key), when);
            if (!least || when < *least) least = when;
        }
        ASSERT_EQ(table.next_due(), least);
    }
}

// sidekiq#5049, systemd#8647: in the hour that autumn repeats, minutely jobs fire throughout, and a
// nightly job once.
TEST(Timetable, TheRepeatedHourHasAllItsMinutesAndOneNightlyRun) {
    const auto from = at("2026-10-25T00:00:00Z");
    timetable table;
    table.add(1, rule_of("* * * * *", "Europe/Paris"), from, from);
    table.add(2, rule_of("30 2 * * *", "Europe/Paris"), from, from);
    std::map<entry_id, int> seen;
    for (const auto& each : watch(table, from, from + 2h)) ++seen[each.entry];
    EXPECT_EQ(seen[1], 120);
    EXPECT_EQ(seen[2], 1);
}

// robfig PR#541, systemd#5595: the nightly job fires on the day that leaves its hour out.
TEST(Timetable, TheSpringGapDoesNotDropTheNightlyRun) {
    const auto from = at("2026-03-28T12:00:00Z");
    timetable table;
    table.add(one, rule_of("30 2 * * *", "Europe/Paris"), from, from);
    const auto seen = watch(table, from, from + 24h, 60s);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].at, at("2026-03-29T01:00:00Z"));
}

// systemd#32039: a loop at the transition. Each look brings the table forward, in every zone that
// is known for odd ones: half an hour, a whole day, two hours, at midnight, in the month of
// fasting.
TEST(Timetable, NoTransitionMakesItSpinOrStall) {
    struct place {
        const char* zone;
        const char* from;
    };
    for (const auto& [zone, from] : {place{"Australia/Lord_Howe", "2026-04-04T00:00:00Z"},
                                     {"Pacific/Apia", "2011-12-29T00:00:00Z"},
                                     {"Antarctica/Troll", "2026-03-28T00:00:00Z"},
                                     {"Africa/Cairo", "2026-04-23T00:00:00Z"},
                                     {"Africa/Casablanca", "2026-02-14T00:00:00Z"}}) {
        const auto begin = at(from);
        timetable table;
        entry_id id = 0;
        for (const auto* each :
             {"0 * * * *", "*/10 * * * *", "30 0 * * *", "30 2 * * *", "59 23 * * *"})
            table.add(id++, rule_of(each, zone), begin, begin);
        std::map<entry_id, int> seen;
        int looks = 0;
        for (auto now = *table.next_due(); now < begin + 72h; now = *table.next_due()) {
            for (const auto& each : table.advance(now, all)) ++seen[each.entry];
            ASSERT_GT(*table.next_due(), now) << zone;
            ASSERT_LT(++looks, 72 * 6 + 10) << zone;
        }
        EXPECT_GE(seen[0], 70) << zone;
        EXPECT_GE(seen[1], 72 * 6 - 3) << zone;
        for (entry_id nightly = 2; nightly < 5; ++nightly) EXPECT_GE(seen[nightly], 2) << zone;
    }
}

// Entries with equal rules share one, whichever parsed it, until the last of them is gone.
TEST(Timetable, EqualRulesAreIndependentSchedules) {
    timetable table;
    table.add(1, rule_of("0 * * * *"), noon, noon);
    table.add(2, rule_of("0 * * * *"), noon - 2h, noon);
    EXPECT_EQ(table.next_of(1), noon + 1h);
    EXPECT_EQ(table.next_of(2), noon - 1h);
    const auto due = table.advance(noon + 1h, all);
    ASSERT_EQ(due.size(), 2U);
    EXPECT_EQ(due[0].missed, 2U);
    EXPECT_EQ(due[1].missed, 0U);
    table.remove(1);
    EXPECT_EQ(table.next_of(2), noon + 2h);
    EXPECT_EQ(table.advance(noon + 2h, all).size(), 1U);
}

}  // namespace
}  // namespace pawl::schedule
