// Every verb, disturbed at each of its requests.
#include "engines/cas/journal/verbs_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace pawl::cas {
namespace {

// A verb that nothing disturbs: what is seen before and after, its answer, and that of a
// repetition.
struct calm_course {
    std::string before, after, answer, again, saved;
};

// What the job's next run is given of those before.
std::string saved_in(journal_stage& stage) {
    return stage.ask(stage.open(), begin_of(inheriting("z", 99, 99)));
}

void prepare(journal_stage& stage, const watched_verb& what) {
    const auto first = stage.open();
    for (const auto& verb : what.before) {
        const auto answer = stage.ask(first, verb);
        ASSERT_NE(answer.substr(0, 5), "error") << what.name;
    }
    stage.on.pass(1s);
}

calm_course calm_course_of(const watched_verb& what) {
    journal_stage stage;
    prepare(stage, what);
    calm_course calm;
    calm.before = stage.view();
    calm.answer = stage.ask(stage.open(), what.verb);
    calm.after = stage.view();
    calm.again = stage.ask(stage.open(), what.verb);
    if (!what.adds_again) {
        EXPECT_EQ(stage.view(), calm.after) << what.name;
    }
    calm.saved = saved_in(stage);
    return calm;
}

// Everything that is kept in one way or another goes, until nothing of the runs is left.
void expect_nothing_left(journal_stage& stage) {
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
        EXPECT_TRUE(stays) << key;
    }
}

struct disturbance {
    fate how;
    bool is_last;
    bool arrives_before_the_repetition;
};

// False: the verb was over before that request.
bool disturb(const watched_verb& what, const calm_course& calm, int request,
             const disturbance& trouble) {
    journal_stage stage;
    prepare(stage, what);
    stage.disturb(request, trouble.how, trouble.is_last);
    const auto answer = stage.ask(stage.open(), what.verb);
    if (!stage.calm()) return false;
    SCOPED_TRACE(what.name + ", request " + std::to_string(request) + ", fate " +
                 std::to_string(static_cast<int>(trouble.how)) +
                 (trouble.is_last ? ", and no more" : "") + ": " + answer);
    if (trouble.arrives_before_the_repetition) stage.on.table->deliver();
    const auto seen_then = stage.view();
    const bool did_happen = seen_then == calm.after && calm.after != calm.before;
    EXPECT_TRUE(what.is_many || did_happen || seen_then == calm.before)
        << seen_then << "\n-- expected\n"
        << calm.before << "\n-- or\n"
        << calm.after;
    if (answer.starts_with("error")) {
        EXPECT_TRUE(answer == "error unreachable" || answer == "error outcome_unknown");
        if (answer == "error unreachable") {
            EXPECT_EQ(seen_then, calm.before);
        }
    } else {
        EXPECT_EQ(answer, calm.answer);
        EXPECT_EQ(seen_then, calm.after);
    }
    const auto again = stage.ask(stage.open(), what.verb);
    if (did_happen)
        EXPECT_TRUE(again == calm.answer || again == calm.again) << again;
    else
        EXPECT_EQ(again, calm.answer);
    if (!what.adds_again) {
        EXPECT_EQ(stage.view(), calm.after);
        stage.on.table->deliver();
        EXPECT_EQ(stage.view(), calm.after);
    }
    EXPECT_EQ(saved_in(stage), calm.saved);
    expect_nothing_left(stage);
    return !testing::Test::HasFailure();
}

void sweep(const std::vector<watched_verb>& all) {
    for (const auto& what : all) {
        const auto calm = calm_course_of(what);
        ASSERT_NE(calm.answer.substr(0, 5), "error") << what.name;
        for (const auto how : {fate::request_lost, fate::answer_lost, fate::unanswered, fate::late})
            for (const bool is_last : {false, true})
                for (const bool before : {false, true}) {
                    if (before && how != fate::late) continue;
                    int request = 1;
                    while (disturb(what, calm, request, {how, is_last, before})) ++request;
                    ASSERT_FALSE(testing::Test::HasFailure());
                    EXPECT_GT(request, 1) << what.name;
                }
    }
}

// Goal: a verb is one step, whatever becomes of its requests. Method: at each request in turn it,
// or its answer, is lost or late, and then all of them go on or the process is cut off. What is
// seen is all of the verb or nothing of it, and nothing if it says so; another process that repeats
// it gets the answer that was lost, and the same is seen as without any trouble. In the end, what
// lost processes have left can be removed.
TEST(CrashSweep, AVerbOfARunnerIsOneStepAndRepeatable) { sweep(verbs_of_runners()); }
TEST(CrashSweep, AVerbOfOthersIsOneStepAndRepeatable) { sweep(verbs_of_others()); }

}  // namespace
}  // namespace pawl::cas
