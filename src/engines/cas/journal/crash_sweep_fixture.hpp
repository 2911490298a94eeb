// Every verb, disturbed at each of its requests.
#pragma once

#include "engines/cas/journal/verbs_fixture.hpp"

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
    struct calm_course {
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
    static std::string saved_in(journal_stage& stage) {
        return stage.ask(stage.open(), begin_of(inheriting("z", 99, 99)));
    }

    static void prepare(journal_stage& stage, const watched_verb& what) {
        const auto first = stage.open();
        for (const auto& verb : what.before) succeed(stage, stage.ask(first, verb));
        stage.on.pass(1s);
    }
    static void succeed(journal_stage& stage, const std::string& answer) {
        stage.demand(law::true_answer, !answer.starts_with("error"), [&] { return answer; });
    }

    calm_course calm_course_of(const watched_verb& what) {
        journal_stage stage{by_};
        prepare(stage, what);
        calm_course calm;
        calm.before = stage.view();
        calm.answer = stage.ask(stage.open(), what.verb);
        succeed(stage, calm.answer);
        calm.after = stage.view();
        calm.again = stage.ask(stage.open(), what.verb);
        succeed(stage, calm.again);
        if (!what.adds_again) expect_view(stage, law::repeatable, calm.after);
        calm.saved = saved_in(stage);
        conclude(stage, what.name + ", calm");
        return calm;
    }

    static void expect_view(journal_stage& stage, law which, const std::string& expected) {
        expect_same(stage, which, stage.view(), expected);
    }
    static void expect_same(journal_stage& stage, law which, const std::string& is,
                            const std::string& expected) {
        stage.demand(which, is == expected, [&] { return is + "\n-- expected\n" + expected; });
    }
    void conclude(journal_stage& stage, const std::string& where) {
        if (stage.broken && !found_)
            found_ = violation{stage.broken->broken, where + ": " + stage.broken->how};
    }

    // False: the verb was over before that request.
    bool disturb(const watched_verb& what, const calm_course& calm, int request,
                 const disturbance& trouble) {
        journal_stage stage{by_};
        prepare(stage, what);
        stage.disturb(request, trouble.how, trouble.is_last);
        const auto answer = stage.ask(stage.open(), what.verb);
        if (!stage.calm()) return false;
        if (trouble.arrives_before_the_repetition) stage.on.table->deliver();
        const auto seen_then = stage.view();
        const bool did_happen = seen_then == calm.after && calm.after != calm.before;
        stage.demand(law::one_step, what.is_many || did_happen || seen_then == calm.before, [&] {
            return seen_then + "\n-- expected\n" + calm.before + "\n-- or\n" + calm.after;
        });
        judge_answer(stage, calm, answer, seen_then);
        const auto again = stage.ask(stage.open(), what.verb);
        if (!did_happen || again != calm.again)
            expect_same(stage, law::repeatable, again, calm.answer);
        if (!what.adds_again) {
            expect_view(stage, law::repeatable, calm.after);
            stage.on.table->deliver();
            expect_view(stage, law::repeatable, calm.after);
        }
        expect_same(stage, law::saved_for_heirs, saved_in(stage), calm.saved);
        expect_nothing_left(stage);
        conclude(stage, what.name + ", request " + std::to_string(request) + ", fate " +
                            std::to_string(static_cast<int>(trouble.how)) +
                            (trouble.is_last ? ", and no more: " : ": ") + answer);
        return true;
    }

    static void judge_answer(journal_stage& stage, const calm_course& calm,
                             const std::string& answer, const std::string& seen_then) {
        if (!answer.starts_with("error")) {
            expect_same(stage, law::true_answer, answer, calm.answer);
            expect_same(stage, law::true_answer, seen_then, calm.after);
            return;
        }
        const bool did_nothing = answer == "error unreachable";
        stage.demand(law::true_answer, did_nothing || answer == "error outcome_unknown",
                     [&] { return answer; });
        if (did_nothing) expect_same(stage, law::true_answer, seen_then, calm.before);
    }

    // Everything that is kept in one way or another goes, until nothing of the runs is left.
    static void expect_nothing_left(journal_stage& stage) {
        const auto by = stage.open();
        for (const auto* id : {"a", "b", "t", "z"}) {
            const auto run = stage.get(by->find_run(id));
            if (!run) continue;
            stage.get(by->finish({id, run->token}, end_as(run_status::failed)));
            if (run->status == run_status::abandoned) {
                auto start = start_of("z", number(run->token) + 1, std::nullopt);
                start.id = id;
                start.occurrence = run->occurrence;
                stage.get(by->begin(start));
                stage.get(by->finish({id, start.token}, end_as(run_status::failed)));
            }
        }
        stage.get(by->remove_trigger("t"));
        stage.on.pass(30min);
        stage.get(by->read_control_state());
        stage.get(by->stale_runs(100, 0));
        stage.get(by->list_runs({}, "", 100));
        stage.get(by->prune("report", 0, millis{0}, 100));
        stage.get(by->list_runs({}, "", 100));
        for (const auto& key : stage.keys_there()) {
            const std::vector<std::string> kept{"saved/", "control:pause/",
                                                "jobs:", "nodes:", "audit:"};
            const bool stays = std::any_of(kept.begin(), kept.end(), [&](const std::string& begin) {
                return key.starts_with(begin);
            });
            stage.demand(law::nothing_left, stays, [&] { return key + " is left"; });
        }
    }

    const media_maker by_;
    std::optional<violation> found_{};
};

}  // namespace pawl::cas
