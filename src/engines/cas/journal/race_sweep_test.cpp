// Two processes, of which one is held at each of its requests while the other does all of its verb.
#include "engines/cas/journal/verbs_fixture.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl::cas {
namespace {

struct race_of_two {
    std::string name;
    std::vector<told_verb> before;
    told_verb one, other;
};

struct outcome {
    std::string one, other, view, saved;

    bool operator==(const outcome&) const = default;
};

std::ostream& operator<<(std::ostream& into, const outcome& what) {
    return into << "\none:   " << what.one << "\nother: " << what.other << "\n"
                << what.view << "\nsaved: " << what.saved << "\n";
}

// Answers to beginnings tell who came first; which of two ids a run has, all else depends on.
void finish_off(journal_stage& stage, outcome& made) {
    made.view = stage.view();
    made.saved = stage.ask(stage.open(), begin_of(inheriting("z", 99, 99)));
}

void prepare(journal_stage& stage, const race_of_two& what) {
    // The one that is held comes later.
    stage.shows_heartbeats = false;
    const auto first = stage.open();
    for (const auto& verb : what.before) {
        const auto answer = stage.ask(first, verb);
        ASSERT_NE(answer.substr(0, 5), "error") << what.name;
    }
    stage.on.pass(1s);
}

outcome in_turn(const race_of_two& what, bool one_is_first) {
    journal_stage stage;
    prepare(stage, what);
    outcome made;
    if (one_is_first) made.one = stage.ask(stage.open(), what.one);
    made.other = stage.ask(stage.open(), what.other);
    if (!one_is_first) made.one = stage.ask(stage.open(), what.one);
    finish_off(stage, made);
    return made;
}

boost::asio::awaitable<void> tell(std::shared_ptr<journal> who, told_verb verb, std::string* into) {
    auto asking = verb(*who);
    auto got = co_await std::move(asking);
    *into = std::move(*got);
}

// False: the verb was over before that request.
bool held_at(const race_of_two& what, int request, const outcome& first, const outcome& second) {
    journal_stage stage;
    prepare(stage, what);
    outcome made;
    const auto other = stage.open();
    stage.hold(request, 1s, [&] { stage.on.start(tell(other, what.other, &made.other)); });
    made.one = stage.ask(stage.open(), what.one);
    const bool was_held = stage.calm();
    if (!was_held) return false;
    stage.on.pass(5s);
    finish_off(stage, made);
    EXPECT_TRUE(made == first || made == second)
        << what.name << ", held at request " << request << ":" << made << "-- in turn:" << first
        << "-- or:" << second;
    return !testing::Test::HasFailure();
}

void run(const race_of_two& what) {
    const auto first = in_turn(what, true);
    const auto second = in_turn(what, false);
    int request = 1;
    while (held_at(what, request, first, second)) ++request;
    ASSERT_FALSE(testing::Test::HasFailure());
    EXPECT_GT(request, 1) << what.name;
}

// Both ways round.
void run_all(const std::vector<race_of_two>& all) {
    for (const auto& what : all) {
        run(what);
        ASSERT_FALSE(testing::Test::HasFailure());
        run({what.name + ", the other way round", what.before, what.other, what.one});
        ASSERT_FALSE(testing::Test::HasFailure());
    }
}

const auto begun = begin_of(start_of("a", 7, 1));
const auto a = mark("a", 7);

// Goal: of two verbs, one happens before the other. Method: hold the one at each of its requests in
// turn while the other runs: both answers, and all that is seen, are as if they had come in turn.
TEST(RaceSweep, TwoWhoBeginHappenInTurn) {
    const auto at_most_once = [](const char* id, std::uint64_t token) {
        return begin_of(start_of(id, token, 1, delivery::at_most_once));
    };
    run_all({
        {"one occurrence", {}, at_most_once("a", 7), at_most_once("b", 8)},
        {"one occurrence, at least once", {}, begun, begin_of(start_of("b", 8, 1))},
        {"the same beginning twice", {}, begun, begun},
        {"the same id for two", {}, begun, begin_of(start_of("a", 8, 2))},
        {"one id without an occurrence",
         {},
         begin_of(start_of("a", 7)),
         begin_of(start_of("a", 8))},
        {"two who resume", {begun}, begin_of(start_of("b", 8, 1)), begin_of(start_of("b", 9, 1))},
        {"two over what was skipped",
         {skip_of(start_of("a", 7, 1))},
         begin_of(start_of("b", 8, 1)),
         begin_of(start_of("c", 9, 1))},
        {"to begin and to skip", {}, begun, skip_of(start_of("b", 8, 1))},
        {"two skips", {}, skip_of(start_of("a", 7, 1)), skip_of(start_of("b", 8, 1))},
    });
}

TEST(RaceSweep, TriggersAreAnsweredOrRemovedInTurn) {
    const auto added = add_of(trigger_with("t"));
    run_all({
        {"two additions", {}, added, added},
        {"to add and to remove", {}, added, remove_of("t")},
        {"to answer and to remove", {added}, begin_of(answering("t", 7)), remove_of("t")},
        {"two answers", {added}, begin_of(answering("t", 7)), begin_of(answering("t", 8))},
        {"to add and to answer", {}, added, begin_of(answering("t", 7))},
        {"two removals", {added}, remove_of("t"), remove_of("t")},
    });
}

TEST(RaceSweep, RunnersAndThoseWhoTakeOverHappenInTurn) {
    const auto resumes = begin_of(start_of("b", 8, 1));
    run_all({
        {"output", {begun, output_of(a, 0, "line 1\n")}, output_of(a, 7, "line 2\n"), resumes},
        {"output of two attempts",
         {begun, output_of(a, 0, "line 1\n"), resumes},
         output_of(mark("a", 8), 7, "other 2\n"),
         output_of(a, 7, "line 2 and more\n")},
        {"checkpoint", {begun}, checkpoint_of(a, "page"), resumes},
        {"note", {begun}, note_of(a, "one"), resumes},
        {"two notes", begun_with_notes(15), note_of(a, "one"), note_of(a, "two")},
        {"heartbeat", {begun}, beat_of({a}), resumes},
        {"heartbeat and end", {begun}, beat_of({a}), finish_of(a, run_status::completed)},
        {"end", {begun}, finish_of(a, run_status::completed), resumes},
        {"never started", {begun}, finish_of(a, run_status::skipped), resumes},
        {"abandoned", {begun}, finish_of(a, run_status::abandoned), resumes},
        {"cancel and end", {begun}, cancel_of("a"), finish_of(a, run_status::cancelled)},
        {"cancel and abandon", {begun}, cancel_of("a"), finish_of(a, run_status::abandoned)},
        {"cancel and resumption", {begun}, cancel_of("a"), resumes},
        {"two ends",
         {begun},
         finish_of(a, run_status::completed),
         finish_of(a, run_status::failed)},
        {"attempt twice", {begun}, attempt_of(a, 1), attempt_of(a, 1)},
    });
}

TEST(RaceSweep, CheckpointsOfOneJobHappenInTurn) {
    const std::vector<told_verb> two{begun, begin_of(start_of("b", 8, 2))};
    const auto b = mark("b", 8);
    run_all({
        {"two runs", two, checkpoint_of(a, "old"), checkpoint_of(b, "new")},
        {"two runs, again",
         {two[0], two[1], checkpoint_of(a, "first")},
         checkpoint_of(a, "old"),
         checkpoint_of(b, "new")},
        {"one run", {begun}, checkpoint_of(a, "one"), checkpoint_of(a, "two")},
        {"large ones",
         {begun, checkpoint_of(a, large_checkpoint)},
         checkpoint_of(a, large_checkpoint + "1"),
         checkpoint_of(a, large_checkpoint + "2")},
        {"checkpoint and heir", {begun}, checkpoint_of(a, "page"), begin_of(inheriting("b", 8, 2))},
        {"checkpoint and end",
         {begun},
         checkpoint_of(a, "page"),
         finish_of(a, run_status::completed)},
    });
}

TEST(RaceSweep, WhoPrunesAndWhoReadsHappenInTurn) {
    const std::vector<told_verb> over{begun, checkpoint_of(a, large_checkpoint),
                                      output_of(a, 0, "line"), finish_of(a, run_status::completed)};
    const std::vector<told_verb> skipped{skip_of(start_of("a", 7, 1))};
    run_all({
        {"prune twice", over, prune_of(0), prune_of(0)},
        {"prune and begin", over, prune_of(0), begin_of(start_of("b", 8, 1))},
        {"prune and begin what was skipped", skipped, prune_of(0), begin_of(start_of("b", 8, 1))},
        {"prune and heir", over, prune_of(0), begin_of(inheriting("b", 8, 2))},
    });
}

TEST(RaceSweep, WhatAllShareIsChangedInTurn) {
    const auto daily = publish_of({"a"}, "@daily", "n");
    run_all({
        {"pauses", {}, pause_of("report", "one"), pause_of("report", "two")},
        {"pause and back", {}, pause_of("report", "one"), unpause_of("report")},
        {"publish", {}, daily, publish_of({"a"}, "@hourly", "m")},
        {"publish and retire", {daily}, publish_of({"a"}, "@hourly", "m"), retire_of({"a"}, "n")},
        {"audit", {}, audit_of("ada"), audit_of("bob")},
        {"nodes", {}, node_of("n", 1), leave_of("n")},
    });
}

}  // namespace
}  // namespace pawl::cas
