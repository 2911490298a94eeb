#include "schedule/queue/key_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace pawl::schedule {
namespace {

using namespace std::chrono_literals;
using stage = key_queue::stage;

const instant now{1h};

queue_rules in_order() {
    queue_rules rules;
    rules.when_running = overlap::queue;
    rules.lateness_max = 1min;
    return rules;
}

std::string name_of(const run_request& one) {
    if (one.kind == request_kind::trigger) return "trigger " + one.id;
    return (one.kind == request_kind::orphan ? "orphan " : "occurrence ") +
           std::to_string(number(*one.occurrence));
}

std::vector<std::string> take_all(key_queue& queue, instant at) {
    std::vector<std::string> all;
    while (queue.take_next(at)) {
        all.push_back(name_of(queue.current()->what));
        queue.let_go_of_current();
    }
    return all;
}

// What was begun is finished first, what is due comes before what was asked for by hand, and each
// of them in its order, whichever was offered first.
TEST(KeyQueue, AsksForOrphansThenOccurrencesThenTriggers) {
    key_queue queue{in_order()};
    queue.offer_trigger("a", now);
    queue.offer_occurrence(occurrence{30}, now, 0ms, 0ms);
    queue.offer_orphan("y", occurrence{20}, now);
    queue.offer_trigger("b", now);
    queue.offer_occurrence(occurrence{40}, now, 0ms, 0ms);
    queue.offer_orphan("x", occurrence{10}, now);

    EXPECT_EQ(take_all(queue, now),
              (std::vector<std::string>{"orphan 10", "orphan 20", "occurrence 30", "occurrence 40",
                                        "trigger a", "trigger b"}));
}

// The control state offers the same again and again; also while it is asked for.
TEST(KeyQueue, TakesWhatItHasOnce) {
    key_queue queue{in_order()};
    EXPECT_TRUE(queue.offer_trigger("a", now));
    EXPECT_FALSE(queue.offer_trigger("a", now));
    EXPECT_TRUE(queue.offer_orphan("x", occurrence{10}, now));
    EXPECT_FALSE(queue.offer_orphan("x", occurrence{10}, now));
    EXPECT_FALSE(queue.offer_orphan("y", occurrence{10}, now)) << "another run of the same";
    EXPECT_TRUE(queue.offer_trigger("x", now)) << "an id of another kind";

    ASSERT_TRUE(queue.take_next(now));

    EXPECT_FALSE(queue.offer_orphan("x", occurrence{10}, now));
    EXPECT_EQ(queue.waiting(), 2u);
}

// What has waited for too long is dropped when its turn comes; of an occurrence that is told.
TEST(KeyQueue, DropsWhatIsTooLateAndTellsOfOccurrences) {
    key_queue queue{in_order()};
    queue.offer_occurrence(occurrence{1}, now, 0ms, 0ms);
    queue.offer_trigger("a", now);
    queue.offer_occurrence(occurrence{2}, now, 0ms, 1s);

    EXPECT_EQ(take_all(queue, now + 1min + 1ms), std::vector<std::string>{"occurrence 2"});

    const auto skipped = queue.take_skipped();
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_EQ(skipped[0].occurrence, occurrence{1});
    EXPECT_EQ(skipped[0].why, skip_reason::too_late);
    EXPECT_FALSE(queue.has_skipped());
}

// What was left to others is late when it was said to be, however long it was to be left to them: a
// delay that all nodes draw may be longer than the window.
TEST(KeyQueue, AsksForWhatWasLeftToOthersUntilThatIsTooLate) {
    for (const bool is_late : {false, true}) {
        const auto asked = is_late ? now + 10min + 1s : now + 9min + 59s;
        key_queue queue{in_order()};
        deferral::timing behind;
        behind.place = 1;
        behind.first_asks = now + 9min + 30s;
        behind.give_up = now + 10min;
        ASSERT_TRUE(queue.defer_occurrence(occurrence{1}, behind));

        EXPECT_TRUE(queue.ask_for_deferred(occurrence{1}, asked));

        EXPECT_EQ(take_all(queue, asked + 1ms).empty(), is_late);
        EXPECT_EQ(queue.take_skipped().size(), is_late ? 1u : 0u);
        EXPECT_FALSE(queue.ask_for_deferred(occurrence{1}, asked)) << "taken";
    }
}

// One that is asked for already, as a run that was left, is not asked for twice.
TEST(KeyQueue, AsksOnceForWhatAnOrphanHasToo) {
    key_queue queue{in_order()};
    ASSERT_TRUE(queue.defer_occurrence(occurrence{1}, {}));
    ASSERT_TRUE(queue.offer_orphan("x", occurrence{1}, now));
    EXPECT_FALSE(queue.ask_for_deferred(occurrence{1}, now));
    EXPECT_EQ(take_all(queue, now), std::vector<std::string>{"orphan 1"});
}

// A clock that is put back takes with it what waits and lies ahead. What is being claimed may have
// been granted already: it is let go of afterwards, unless it comes due again meanwhile.
TEST(KeyQueue, LetsGoOfWhatLiesAhead) {
    for (const auto at : {stage::waiting, stage::claiming, stage::running}) {
        key_queue queue{in_order()};
        queue.offer_occurrence(occurrence{20}, now, 0ms, 0ms);
        queue.offer_occurrence(occurrence{30}, now, 0ms, 0ms);
        ASSERT_TRUE(queue.take_next(now));
        queue.current()->at = at;

        queue.forget_ahead(occurrence{10});

        EXPECT_EQ(queue.waiting(), 0u);
        EXPECT_EQ(queue.current() == nullptr, at == stage::waiting);
        if (!queue.current()) continue;
        EXPECT_EQ(queue.current()->ahead, at == stage::claiming);
        queue.offer_occurrence(occurrence{20}, now, 0ms, 0ms);
        EXPECT_FALSE(queue.current()->ahead);
        EXPECT_EQ(queue.waiting(), 0u);
    }
}

// What a pause takes out of the line is told: what waits, what is asked for and not under way, and
// what was left to others. Triggers stay.
TEST(KeyQueue, TellsOfWhatAPauseTakesOut) {
    for (const auto at : {stage::waiting, stage::claiming, stage::running}) {
        key_queue queue{in_order()};
        queue.offer_occurrence(occurrence{10}, now, 0ms, 0ms);
        queue.offer_occurrence(occurrence{20}, now, 0ms, 0ms);
        queue.offer_trigger("a", now);
        EXPECT_TRUE(queue.defer_occurrence(occurrence{30}, {}));
        ASSERT_TRUE(queue.take_next(now));
        queue.current()->at = at;

        queue.skip_paused();

        std::vector<std::int64_t> told;
        for (const auto& one : queue.take_skipped()) {
            told.push_back(number(one.occurrence));
            EXPECT_EQ(text_of(one), "the job was paused before it could begin");
        }
        std::sort(told.begin(), told.end());
        const bool is_waiting = at == stage::waiting;
        EXPECT_EQ(told, is_waiting ? (std::vector<std::int64_t>{10, 20, 30})
                                   : (std::vector<std::int64_t>{20, 30}));
        EXPECT_EQ(queue.current() == nullptr, is_waiting);
        EXPECT_TRUE(queue.deferred().empty());
        queue.let_go_of_current();
        EXPECT_EQ(take_all(queue, now), std::vector<std::string>{"trigger a"});
    }
}

// The one that is asked for goes back behind an older orphan, and before everything else.
TEST(KeyQueue, MakesWayForAnOlderOrphanOnly) {
    for (const int orphan : {10, 30}) {
        key_queue queue{in_order()};
        queue.offer_occurrence(occurrence{20}, now, 0ms, 0ms);
        queue.offer_occurrence(occurrence{40}, now, 0ms, 0ms);
        ASSERT_TRUE(queue.take_next(now));
        queue.offer_orphan("x", occurrence{orphan}, now);

        queue.make_way();

        EXPECT_EQ(queue.current() == nullptr, orphan == 10);
        queue.let_go_of_current();
        const auto rest = take_all(queue, now);
        if (orphan == 10) {
            EXPECT_EQ(rest,
                      (std::vector<std::string>{"orphan 10", "occurrence 20", "occurrence 40"}));
        }
    }
}

// Goal: a run by hand that has no room keeps no occurrence from running, whatever its delivery.
// Method: the occurrence comes due while the request waits, and room is there.
TEST(KeyQueue, AnOccurrenceGoesBeforeARequestThatWaitsForRoom) {
    for (const auto mode : {delivery::at_most_once, delivery::at_least_once}) {
        queue_rules rules;
        rules.delivery = mode;
        key_queue queue{rules};
        queue.offer_trigger("a", now);
        queue.offer_trigger("b", now);
        ASSERT_TRUE(queue.take_next(now));
        queue.current()->at = stage::claiming;
        queue.yield_to_occurrence(now);
        EXPECT_EQ(name_of(queue.current()->what), "trigger a");
        queue.offer_occurrence(occurrence{30}, now, 0ms, 0ms);
        EXPECT_FALSE(queue.has_skipped());
        queue.yield_to_occurrence(now);
        EXPECT_EQ(name_of(queue.current()->what), "occurrence 30");
        EXPECT_EQ(queue.current()->at, stage::claiming);
        queue.let_go_of_current();
        EXPECT_EQ(take_all(queue, now), (std::vector<std::string>{"trigger a", "trigger b"}));
    }
}

}  // namespace
}  // namespace pawl::schedule
