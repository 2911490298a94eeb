// Two processes, of which one is held at each of its requests while the other does all of its verb.
#pragma once

#include "engines/cas/journal/cas_verbs_fixture.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::cas {

struct race_of_two {
    std::string name;
    std::vector<told_verb> before;
    told_verb one, other;
};

// The one is held at each of its requests in turn while the other runs, and both ways round. It
// ends with the first law that is broken.
class race_sweep {
public:
    explicit race_sweep(media_maker by = testing_media::make_memory_medium) : by_{std::move(by)} {}

    std::optional<violation> over(const std::vector<race_of_two>& all) {
        for (const auto& what : all)
            if (sweep(what) ||
                sweep({what.name + ", the other way round", what.before, what.other, what.one}))
                break;
        return found_;
    }

private:
    struct outcome {
        std::string one, other, view, saved;

        bool operator==(const outcome&) const = default;
        std::string text() const {
            return "\none:   " + one + "\nother: " + other + "\n" + view + "\nsaved: " + saved +
                   "\n";
        }
    };

    bool sweep(const race_of_two& what) {
        const auto first = in_turn(what, true);
        const auto second = in_turn(what, false);
        int request = 1;
        while (!found_ && held_at(what, request, first, second)) ++request;
        EXPECT_TRUE(found_ || request > 1) << what.name;
        return found_.has_value();
    }

    // Answers to beginnings tell who came first; which of two ids a run has, all else depends on.
    void finish_off(journal_setup& setup, outcome& made, const std::string& where) {
        made.view = setup.view();
        made.saved = setup.ask(setup.open(), begin_of(inheriting("z", 99, 99)));
        if (setup.broken && !found_)
            found_ = violation{setup.broken->broken, where + ": " + setup.broken->how};
    }

    static void prepare(journal_setup& setup, const race_of_two& what) {
        // The one that is held comes later.
        setup.shows_heartbeats = false;
        const auto first = setup.open();
        for (const auto& verb : what.before) {
            const auto answer = setup.ask(first, verb);
            setup.demand(law::true_answer, !answer.starts_with("error"), [&] { return answer; });
        }
        setup.on.pass(1s);
    }

    outcome in_turn(const race_of_two& what, bool one_is_first) {
        journal_setup setup{by_};
        prepare(setup, what);
        outcome made;
        if (one_is_first) made.one = setup.ask(setup.open(), what.one);
        made.other = setup.ask(setup.open(), what.other);
        if (!one_is_first) made.one = setup.ask(setup.open(), what.one);
        finish_off(setup, made, what.name + ", in turn");
        return made;
    }

    // False: the verb was over before that request.
    bool held_at(const race_of_two& what, int request, const outcome& first,
                 const outcome& second) {
        journal_setup setup{by_};
        prepare(setup, what);
        outcome made;
        const auto other = setup.open();
        std::shared_ptr<std::optional<result<std::string>>> others;
        setup.hold(request, 1s, [&] { others = setup.on.begin(what.other(*other)); });
        made.one = setup.ask(setup.open(), what.one);
        const bool was_held = setup.calm();
        if (!was_held) return false;
        setup.on.pass(5s);
        made.other = others->value().value();
        const auto where = what.name + ", held at request " + std::to_string(request);
        finish_off(setup, made, where);
        if (made != first && made != second && !found_)
            found_ =
                violation{law::in_turn, where + ":" + made.text() + "-- in turn:" + first.text() +
                                            "-- or:" + second.text()};
        return true;
    }

    const media_maker by_;
    std::optional<violation> found_{};
};

inline std::vector<race_of_two> races_of_beginnings() {
    const auto at_most_once = [](const char* id, std::uint64_t token) {
        return begin_of(start_of(id, token, 1, delivery::at_most_once));
    };
    return {
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
    };
}

inline std::vector<race_of_two> races_of_triggers() {
    const auto added = add_of(trigger_with("t"));
    return {
        {"two additions", {}, added, added},
        {"to add and to remove", {}, added, remove_of("t")},
        {"to answer and to remove", {added}, begin_of(answering("t", 7)), remove_of("t")},
        {"two answers", {added}, begin_of(answering("t", 7)), begin_of(answering("t", 8))},
        {"to add and to answer", {}, added, begin_of(answering("t", 7))},
        {"two removals", {added}, remove_of("t"), remove_of("t")},
    };
}

inline std::vector<race_of_two> races_of_runners() {
    const auto resumes = begin_of(start_of("b", 8, 1));
    return {
        {"output",
         {begun, output_of(run_a, 0, "line 1\n")},
         output_of(run_a, 7, "line 2\n"),
         resumes},
        {"output of two attempts",
         {begun, output_of(run_a, 0, "line 1\n"), resumes},
         output_of(mark("a", 8), 7, "other 2\n"),
         output_of(run_a, 7, "line 2 and more\n")},
        {"checkpoint", {begun}, checkpoint_of(run_a, "page"), resumes},
        {"note", {begun}, note_of(run_a, "one"), resumes},
        {"two notes", begun_with_notes(15), note_of(run_a, "one"), note_of(run_a, "two")},
        {"heartbeat", {begun}, beat_of({run_a}), resumes},
        {"heartbeat and end", {begun}, beat_of({run_a}), finish_of(run_a, run_status::completed)},
        {"end", {begun}, finish_of(run_a, run_status::completed), resumes},
        {"never started", {begun}, finish_of(run_a, run_status::skipped), resumes},
        {"abandoned", {begun}, finish_of(run_a, run_status::abandoned), resumes},
        {"cancel and end", {begun}, cancel_of("a"), finish_of(run_a, run_status::cancelled)},
        {"cancel and abandon", {begun}, cancel_of("a"), finish_of(run_a, run_status::abandoned)},
        {"cancel and resumption", {begun}, cancel_of("a"), resumes},
        {"two ends",
         {begun},
         finish_of(run_a, run_status::completed),
         finish_of(run_a, run_status::failed)},
        {"attempt twice", {begun}, attempt_of(run_a, 1), attempt_of(run_a, 1)},
    };
}

inline std::vector<race_of_two> races_of_checkpoints() {
    const std::vector<told_verb> two{begun, begin_of(start_of("b", 8, 2))};
    const auto b = mark("b", 8);
    return {
        {"two runs", two, checkpoint_of(run_a, "old"), checkpoint_of(b, "new")},
        {"two runs, again",
         {two[0], two[1], checkpoint_of(run_a, "first")},
         checkpoint_of(run_a, "old"),
         checkpoint_of(b, "new")},
        {"one run", {begun}, checkpoint_of(run_a, "one"), checkpoint_of(run_a, "two")},
        {"large ones",
         {begun, checkpoint_of(run_a, large_checkpoint)},
         checkpoint_of(run_a, large_checkpoint + "1"),
         checkpoint_of(run_a, large_checkpoint + "2")},
        {"checkpoint and heir",
         {begun},
         checkpoint_of(run_a, "page"),
         begin_of(inheriting("b", 8, 2))},
        {"checkpoint and end",
         {begun},
         checkpoint_of(run_a, "page"),
         finish_of(run_a, run_status::completed)},
    };
}

inline std::vector<race_of_two> races_of_prunes() {
    const std::vector<told_verb> over{begun, checkpoint_of(run_a, large_checkpoint),
                                      output_of(run_a, 0, "line"),
                                      finish_of(run_a, run_status::completed)};
    const std::vector<told_verb> skipped{skip_of(start_of("a", 7, 1))};
    return {
        {"prune twice", over, prune_of(0), prune_of(0)},
        {"prune and begin", over, prune_of(0), begin_of(start_of("b", 8, 1))},
        {"prune and begin what was skipped", skipped, prune_of(0), begin_of(start_of("b", 8, 1))},
        {"prune and heir", over, prune_of(0), begin_of(inheriting("b", 8, 2))},
    };
}

inline std::vector<race_of_two> races_of_what_is_shared() {
    const auto daily = publish_of({"a"}, "@daily", "n");
    return {
        {"pauses", {}, pause_of("report", "one"), pause_of("report", "two")},
        {"pause and back", {}, pause_of("report", "one"), resume_of("report")},
        {"publish", {}, daily, publish_of({"a"}, "@hourly", "m")},
        {"publish and retire", {daily}, publish_of({"a"}, "@hourly", "m"), retire_of({"a"}, "n")},
        {"audit", {}, audit_of("ada"), audit_of("bob")},
        {"nodes", {}, node_of("n", 1), leave_of("n")},
    };
}

}  // namespace pawl::cas
