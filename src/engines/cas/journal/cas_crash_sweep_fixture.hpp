// Every verb, disturbed at each of its requests.
#pragma once

#include "engines/cas/journal/cas_verbs_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace pawl::cas {

// At each request of a verb in turn it, or its answer, is lost or late, and then all go on or the
// process is cut off. It ends with the first law that is broken.
class crash_sweep {
public:
    explicit crash_sweep(media_maker by = testing_media::make_memory_medium) : by_{std::move(by)} {}

    std::optional<violation> over(const std::vector<watched_verb>& all) {
        for (const auto& what : all)
            if (sweep(what)) break;
        return found_;
    }

private:
    // A verb that nothing disturbs: what is seen before and after, its answer, and that of a
    // repetition.
    struct undisturbed_run {
        std::string before, after, answer, again, saved;
    };
    struct disturbance {
        fate how;
        bool is_last;
        bool arrives_before_the_repetition;
    };

    bool sweep(const watched_verb& what) {
        const auto calm = calm_course_of(what);
        for (const auto how : {fate::request_lost, fate::answer_lost, fate::unanswered, fate::late})
            for (const bool is_last : {false, true})
                for (const bool before : {false, true}) {
                    if (before && how != fate::late) continue;
                    int request = 1;
                    while (!found_ && disturb(what, calm, request, {how, is_last, before}))
                        ++request;
                    EXPECT_TRUE(found_ || request > 1) << what.name;
                }
        return found_.has_value();
    }

    // What the job's next run is given of those before.
    static std::string saved_in(journal_setup& setup) {
        return setup.ask(setup.open(), begin_of(inheriting("z", 99, 99)));
    }

    static void prepare(journal_setup& setup, const watched_verb& what) {
        const auto first = setup.open();
        for (const auto& verb : what.before) succeed(setup, setup.ask(first, verb));
        setup.on.pass(1s);
    }
    static void succeed(journal_setup& setup, const std::string& answer) {
        setup.demand(law::true_answer, !answer.starts_with("error"), [&] { return answer; });
    }

    undisturbed_run calm_course_of(const watched_verb& what) {
        journal_setup setup{by_};
        prepare(setup, what);
        undisturbed_run calm;
        calm.before = setup.view();
        calm.answer = setup.ask(setup.open(), what.verb);
        succeed(setup, calm.answer);
        calm.after = setup.view();
        calm.again = setup.ask(setup.open(), what.verb);
        succeed(setup, calm.again);
        if (!what.adds_again) expect_view(setup, law::repeatable, calm.after);
        calm.saved = saved_in(setup);
        conclude(setup, what.name + ", calm");
        return calm;
    }

    static void expect_view(journal_setup& setup, law which, const std::string& expected) {
        expect_same(setup, which, setup.view(), expected);
    }
    static void expect_same(journal_setup& setup, law which, const std::string& is,
                            const std::string& expected) {
        setup.demand(which, is == expected, [&] { return is + "\n-- expected\n" + expected; });
    }
    void conclude(journal_setup& setup, const std::string& where) {
        if (setup.broken && !found_)
            found_ = violation{setup.broken->broken, where + ": " + setup.broken->how};
    }

    // False: the verb was over before that request.
    bool disturb(const watched_verb& what, const undisturbed_run& calm, int request,
                 const disturbance& trouble) {
        journal_setup setup{by_};
        prepare(setup, what);
        setup.disturb(request, trouble.how, trouble.is_last);
        const auto answer = setup.ask(setup.open(), what.verb);
        if (!setup.calm()) return false;
        if (trouble.arrives_before_the_repetition) setup.on.table->deliver();
        const auto seen_then = setup.view();
        const bool did_happen = seen_then == calm.after && calm.after != calm.before;
        setup.demand(law::one_step, what.is_many || did_happen || seen_then == calm.before, [&] {
            return seen_then + "\n-- expected\n" + calm.before + "\n-- or\n" + calm.after;
        });
        judge_answer(setup, calm, answer, seen_then);
        const auto again = setup.ask(setup.open(), what.verb);
        if (!did_happen || again != calm.again)
            expect_same(setup, law::repeatable, again, calm.answer);
        if (!what.adds_again) {
            expect_view(setup, law::repeatable, calm.after);
            setup.on.table->deliver();
            expect_view(setup, law::repeatable, calm.after);
        }
        expect_same(setup, law::saved_for_heirs, saved_in(setup), calm.saved);
        expect_nothing_left(setup);
        conclude(setup, what.name + ", request " + std::to_string(request) + ", fate " +
                            std::to_string(static_cast<int>(trouble.how)) +
                            (trouble.is_last ? ", and no more: " : ": ") + answer);
        return true;
    }

    static void judge_answer(journal_setup& setup, const undisturbed_run& calm,
                             const std::string& answer, const std::string& seen_then) {
        if (!answer.starts_with("error")) {
            expect_same(setup, law::true_answer, answer, calm.answer);
            expect_same(setup, law::true_answer, seen_then, calm.after);
            return;
        }
        const bool did_nothing = answer == "error unreachable";
        setup.demand(law::true_answer, did_nothing || answer == "error outcome_unknown",
                     [&] { return answer; });
        if (did_nothing) expect_same(setup, law::true_answer, seen_then, calm.before);
    }

    // Everything that is kept in one way or another goes, until nothing of the runs is left.
    static void expect_nothing_left(journal_setup& setup) {
        const auto by = setup.open();
        for (const auto* id : {"a", "b", "t", "z"}) {
            const auto run = setup.get(by->find_run(id));
            if (!run) continue;
            setup.get(by->finish({id, run->token}, end_as(run_status::failed)));
            if (run->status == run_status::abandoned) {
                auto start = start_of("z", number(run->token) + 1, std::nullopt);
                start.id = id;
                start.occurrence = run->occurrence;
                setup.get(by->begin(start));
                setup.get(by->finish({id, start.token}, end_as(run_status::failed)));
            }
        }
        setup.get(by->remove_trigger("t"));
        setup.on.pass(30min);
        setup.get(by->read_control_state());
        setup.get(by->stale_runs(100, 0));
        setup.get(by->list_runs({}, "", 100));
        setup.get(by->prune("report", 0, millis{0}, 100));
        setup.get(by->list_runs({}, "", 100));
        for (const auto& key : setup.keys_there()) {
            const std::vector<std::string> kept{"saved/", "control:pause/",
                                                "jobs:", "nodes:", "audit:"};
            const bool stays = std::any_of(kept.begin(), kept.end(), [&](const std::string& begin) {
                return key.starts_with(begin);
            });
            setup.demand(law::nothing_left, stays, [&] { return key + " is left"; });
        }
    }

    const media_maker by_;
    std::optional<violation> found_{};
};

}  // namespace pawl::cas
