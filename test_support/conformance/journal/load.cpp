#include "test_support/conformance/journal/load.hpp"

#include <pawl/clock.hpp>

#include <gtest/gtest.h>
#include <poll.h>

#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace pawl::conformance {
namespace {

constexpr auto timeout = 60s;
constexpr int milliseconds_between_questions = 2;

bool may_pass(const failure& why) {
    return why.code == errc::unreachable || why.code == errc::outcome_unknown;
}

std::string checkpoint_of(std::int64_t due) { return "after " + std::to_string(due); }

std::string output_of(std::int64_t due) { return "worked at " + std::to_string(due) + "\n"; }

// Asks again after an unknown or missing answer, until there is one; any other failure, and a
// minute without an answer, fails the test.
template <class T>
T insist(journal_client& through, const std::function<async<T>()>& verb) {
    const auto give_up = lease_clock::now() + timeout;
    for (;;) {
        auto answer = through.ask(verb());
        if (answer.has_value()) return std::move(*answer);
        if (!may_pass(answer.error()) || lease_clock::now() > give_up) {
            ADD_FAILURE() << name_of(answer.error().code) << ": " << answer.error().detail;
            return T{};
        }
        ::poll(nullptr, 0, milliseconds_between_questions);
    }
}

// What a winner does; each verb is repeated until it is answered.
void perform(journal_client& mine, const run_ref& who, std::int64_t due) {
    SCOPED_TRACE("the run " + who.id + ", due at " + std::to_string(due) + ", token " +
                 std::to_string(number(who.token)));
    const std::vector marks{who};
    EXPECT_EQ(insist<std::vector<heartbeat_result>>(mine, [&] { return mine->heartbeat(marks); }),
              std::vector{heartbeat_result::alive});
    EXPECT_TRUE(insist<bool>(mine, [&] { return mine->checkpoint(who, checkpoint_of(due)); }));
    EXPECT_TRUE(
        insist<bool>(mine, [&] { return mine->append_output(who, 0, output_of(due), 1000); }));
    EXPECT_TRUE(insist<bool>(
        mine, [&] { return mine->next_attempt(who, failed_attempt(1, "the first time")); }));
    EXPECT_TRUE(
        insist<bool>(mine, [&] { return mine->finish(who, ended(run_status::completed)); }));
}

struct winners {
    std::mutex mutex;
    std::vector<std::pair<std::string, std::int64_t>> begun;  // job and occurrence, by who runs it
};

void run_occurrences(journal_client& mine, const std::string& job, int runner,
                     const load_plan& plan, winners& all) {
    for (std::int64_t due = 1; due <= plan.occurrences; ++due) {
        const auto token = static_cast<std::uint64_t>(due * plan.runners + runner);
        auto start = fresh_occurrence_run(job, due, token);
        // Occurrences of one partition would fence each other's checkpoints.
        start.partition = static_cast<std::uint32_t>(due);
        const auto told = insist<begin_result>(mine, [&] { return mine->begin(start); });
        if (told.outcome != begin_outcome::begun) {
            EXPECT_EQ(static_cast<int>(told.outcome), static_cast<int>(begin_outcome::already_run));
            continue;
        }
        {
            const std::lock_guard lock{all.mutex};
            all.begun.emplace_back(job, due);
        }
        perform(mine, mark_of(start), due);
    }
}

// In words for what went wrong, which six hundred rows are not.
void expect_each_begun_once(const winners& all, const load_plan& plan) {
    std::map<std::pair<std::string, std::int64_t>, int> times;
    for (const auto& one : all.begun) ++times[one];
    for (int i = 0; i < plan.runners / 2; ++i)
        for (std::int64_t due = 1; due <= plan.occurrences; ++due) {
            const std::pair which{"job/" + std::to_string(i), due};
            EXPECT_EQ(times[which], 1) << which.first << " due at " << due;
            times.erase(which);
        }
    EXPECT_TRUE(times.empty()) << times.begin()->first.first;
}

// From begin to end, and nothing twice.
void expect_whole(journal_client& mine, const run_record& run) {
    const auto due = number(*run.occurrence);
    EXPECT_EQ(run.status, run_status::completed);
    EXPECT_EQ(run.checkpoint, checkpoint_of(due));
    EXPECT_EQ(run.attempt, 2);
    EXPECT_TRUE(run.completed_at);
    EXPECT_EQ(mine.output_of(run.id), output_of(due));
    EXPECT_EQ(mine.kinds_of_events(run.id),
              (std::vector<std::string>{"begun", "checkpoint", "attempt", "completed"}));
}

}  // namespace

void run_under_trouble(const journal_opener& open, const load_plan& plan,
                       const std::function<void()>& trouble) {
    winners all;
    {
        // Two clients, as two processes would have.
        journal_client one{open}, other{open};
        std::vector<std::jthread> threads;
        for (int i = 0; i < plan.runners; ++i)
            threads.emplace_back([&, i] {
                run_occurrences(i % 2 == 0 ? one : other, "job/" + std::to_string(i / 2), i, plan,
                                all);
            });
        trouble();
    }
    expect_each_begun_once(all, plan);
    journal_client mine{open};
    const auto runs = mine.all({}, page_limit_max);
    EXPECT_EQ(runs.size(), static_cast<std::size_t>(plan.runners / 2 * plan.occurrences));
    for (const auto& run : runs) {
        SCOPED_TRACE("the run " + run.id + " of " + run.job + ", token " +
                     std::to_string(number(run.token)));
        expect_whole(mine, run);
    }
}

int run_ten_thousand(journal_client& mine) {
    constexpr int callers = 16, runs = 625, kept_at_once = 10, pruned_after = 100;
    std::vector<std::jthread> threads;
    for (int i = 0; i < callers; ++i)
        threads.emplace_back([&, i] {
            const auto job = "job/" + std::to_string(i);
            for (int j = 1; j <= runs; ++j) {
                const auto start = fresh_run(job, static_cast<std::uint64_t>(j));
                mine.begin(start);
                EXPECT_TRUE(mine.get(mine->finish(mark_of(start), ended(run_status::completed))));
                if (j % pruned_after == 0) mine.get(mine->prune(job, kept_at_once, 0ms, 1000));
            }
        });
    threads.clear();
    return callers * (kept_at_once + runs % pruned_after);
}

void try_every_verb(journal_client& mine) {
    auto first = fresh_occurrence_run("job", 1, 5, delivery::at_least_once);
    first.starts_from = checkpoint_source::last_saved;
    mine.begin(first);
    const auto who = mark_of(first);
    EXPECT_EQ(mine.get(mine->heartbeat(std::vector{who})), std::vector{heartbeat_result::alive});
    EXPECT_TRUE(mine.get(mine->checkpoint(who, "half")));
    EXPECT_TRUE(mine.get(mine->append_output(who, 0, "words", 3)));
    EXPECT_TRUE(mine.get(mine->add_event(who, "note", "said")));
    EXPECT_TRUE(mine.get(mine->next_attempt(who, failed_attempt(1, "no"))));
    EXPECT_TRUE(mine.get(mine->stale_runs(10, 0)).empty());
    EXPECT_FALSE(mine.get(mine->end_stale(who, ended(run_status::lost))));
    EXPECT_TRUE(mine.get(mine->finish(who, ended(run_status::abandoned))));
    EXPECT_EQ(mine.get(mine->read_control_state()).orphans.size(), 1u);
    const auto again = fresh_occurrence_run("job", 1, 6, delivery::at_least_once);
    mine.begin(again, begin_outcome::resumed);
    EXPECT_TRUE(mine.get(mine->request_cancel(first.id, "me")));
    EXPECT_TRUE(
        mine.get(mine->finish(mark_of(first.id, 6), ended(run_status::completed, "done", 0))));
    EXPECT_TRUE(mine.get(mine->skip(fresh_occurrence_run("job", 2, 7), "late")));
    EXPECT_TRUE(mine.get(mine->find_run(first.id)));
    EXPECT_TRUE(mine.get(mine->find_occurrence("job", 0, occurrence{2})));
    EXPECT_EQ(mine.all({.job = "job"}, 1).size(), 2u);
    EXPECT_EQ(mine.kinds_of_events(first.id).size(), 8u);
    EXPECT_EQ(mine.output_of(first.id), "words");
    EXPECT_EQ(mine.get(mine->prune("job", 0, 0ms, 1)), 1u);
    const auto trigger = trigger_for("job");
    EXPECT_TRUE(mine.get(mine->add_trigger(trigger)));
    EXPECT_TRUE(mine.get(mine->remove_trigger(trigger.id)));
    EXPECT_TRUE(mine.get(mine->add_trigger(trigger)));
    auto answer = fresh_run("job", 8);
    answer.id = trigger.id;
    answer.consumes_trigger = true;
    mine.begin(answer);
    EXPECT_TRUE(mine.get(mine->pause_job("job", "why", "me")));
    EXPECT_TRUE(mine.get(mine->resume_job("job")));
    EXPECT_EQ(mine.get(mine->publish({entry_for("job", "@daily", "node")})).size(), 1u);
    EXPECT_EQ(mine.get(mine->list_jobs("", 10)).size(), 1u);
    EXPECT_TRUE(mine.get(mine->find_job("job")));
    EXPECT_EQ(mine.get(mine->retire({"job"}, "node")), 1u);
    mine.done(mine->node_heartbeat(node_named("id", "node")));
    EXPECT_EQ(mine.get(mine->list_nodes()).size(), 1u);
    mine.done(mine->node_leave("id"));
    EXPECT_EQ(mine.get(mine->append_audit(draft_of("me", "job"))).sequence, 1u);
    EXPECT_EQ(mine.whole_audit(10).size(), 1u);
}

}  // namespace pawl::conformance
