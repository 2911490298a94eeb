// Verbs of a journal where each of them has most to do.
#pragma once

#include "engines/cas/journal/cas_journal_fixture.hpp"

#include <string>
#include <utility>
#include <vector>

namespace pawl::cas {

// What comes before, and the verb that is watched.
struct watched_verb {
    std::string name;
    std::vector<told_verb> before;
    told_verb verb;
    bool adds_again = false;  // once more when it is repeated
    bool is_many = false;     // a step for each of several records
};

inline told_verb begin_of(run_start start) {
    return [=](journal& on) { return answer_of(on.begin(start)); };
}
inline told_verb checkpoint_of(run_ref who, std::string text) {
    return [=](journal& on) { return answer_of(on.checkpoint(who, text)); };
}
inline told_verb output_of(run_ref who, std::uint64_t offset, std::string bytes,
                           std::uint64_t limit = 1000) {
    return [=](journal& on) { return answer_of(on.append_output(who, offset, bytes, limit)); };
}
inline told_verb note_of(run_ref who, std::string text) {
    return [=](journal& on) { return answer_of(on.add_event(who, "note", text)); };
}
inline told_verb finish_of(run_ref who, run_status status) {
    return [=](journal& on) { return answer_of(on.finish(who, end_as(status))); };
}
inline told_verb judge_of(run_ref who, run_status status) {
    return [=](journal& on) { return answer_of(on.end_stale(who, end_as(status))); };
}
inline told_verb attempt_of(run_ref who, int attempt) {
    return [=](journal& on) {
        auto last = end_as(run_status::failed);
        last.attempt = attempt;
        return answer_of(on.next_attempt(who, last));
    };
}
inline told_verb skip_of(run_start start) {
    return [=](journal& on) { return answer_of(on.skip(start, "late")); };
}
inline told_verb cancel_of(std::string id) {
    return [=](journal& on) { return answer_of(on.request_cancel(id, "ada")); };
}
inline async<std::string> beat_of_all(journal& on, std::vector<run_ref> who) {
    auto beating = answer_of(on.heartbeat(who));
    co_return co_await std::move(beating);
}
inline told_verb beat_of(std::vector<run_ref> who) {
    return [=](journal& on) { return beat_of_all(on, who); };
}
inline told_verb prune_of(std::size_t keep) {
    return [=](journal& on) { return answer_of(on.prune("report", keep, millis{0}, 100)); };
}
inline told_verb add_of(run_trigger what) {
    return [=](journal& on) { return answer_of(on.add_trigger(what)); };
}
inline told_verb remove_of(std::string id) {
    return [=](journal& on) { return answer_of(on.remove_trigger(id)); };
}
inline told_verb pause_of(std::string job, std::string reason) {
    return [=](journal& on) { return answer_of(on.pause_job(job, reason, "ada")); };
}
inline told_verb resume_of(std::string job) {
    return [=](journal& on) { return answer_of(on.resume_job(job)); };
}
inline told_verb publish_of(std::vector<std::string> names, std::string schedule,
                            std::string node) {
    return [=](journal& on) {
        std::vector<job_entry> jobs;
        for (const auto& name : names) {
            auto& job = jobs.emplace_back();
            job.name = name;
            job.schedule = schedule;
            job.node = node;
        }
        return answer_of(on.publish(jobs));
    };
}
inline told_verb retire_of(std::vector<std::string> names, std::string node) {
    return [=](journal& on) { return answer_of(on.retire(names, node)); };
}
inline told_verb node_of(std::string id, std::uint32_t running) {
    return [=](journal& on) {
        node_entry me;
        me.id = id;
        me.running = running;
        return answer_of(on.node_heartbeat(me));
    };
}
inline told_verb leave_of(std::string id) {
    return [=](journal& on) { return answer_of(on.node_leave(id)); };
}
inline told_verb audit_of(std::string actor) {
    return [=](journal& on) {
        audit_draft what;
        what.actor = actor;
        return answer_of(on.append_audit(what));
    };
}

inline run_start answering(const std::string& id, std::uint64_t token) {
    auto start = start_of(id, token);
    start.consumes_trigger = true;
    return start;
}
inline run_start inheriting(const std::string& id, std::uint64_t token, std::int64_t due) {
    auto start = start_of(id, token, due);
    start.starts_from = checkpoint_source::last_saved;
    return start;
}
inline const std::string large_checkpoint(3000, 'c');

inline const told_verb begun = begin_of(start_of("a", 7, 1));
inline const run_ref run_a = mark("a", 7);

// So many notes that the next one makes a page of those before.
inline std::vector<told_verb> begun_with_notes(int count) {
    std::vector<told_verb> before{begun};
    for (int i = 0; i < count; ++i) before.push_back(note_of(run_a, std::to_string(i)));
    return before;
}

inline std::vector<watched_verb> verbs_of_runners() {
    return {
        {"begin of an occurrence", {}, begun},
        {"begin without an occurrence", {}, begin_of(start_of("a", 7))},
        {"begin that resumes", {begun}, begin_of(start_of("b", 8, 1))},
        {"begin of an orphan with a cancel",
         {begun, finish_of(run_a, run_status::abandoned), cancel_of("a")},
         begin_of(start_of("b", 8, 1))},
        {"begin of what was skipped",
         {skip_of(start_of("a", 7, 1))},
         begin_of(start_of("b", 8, 1))},
        {"begin from the last checkpoint",
         {begun, checkpoint_of(run_a, large_checkpoint)},
         begin_of(inheriting("b", 8, 2))},
        {"begin that answers a trigger", {add_of(trigger_with("t"))}, begin_of(answering("t", 7))},
        {"begin without its trigger", {}, begin_of(answering("t", 7))},
        {"skip", {}, skip_of(start_of("a", 7, 1))},
        {"heartbeat", {begun}, beat_of({mark("a", 7), mark("a", 6), mark("none", 1)})},
        {"heartbeat of many",
         {begun, begin_of(start_of("b", 8))},
         beat_of({mark("a", 7), mark("b", 8), mark("a", 6), mark("none", 1)}),
         false,
         true},
        {"note", {begun}, note_of(run_a, "one")},
        {"note that makes a page", begun_with_notes(15), note_of(run_a, "last")},
        {"next attempt", {begun}, attempt_of(run_a, 1)},
        {"output", {begun, output_of(run_a, 0, "line 1\n")}, output_of(run_a, 7, "line 2\n")},
        {"output beyond its bound",
         {begun, output_of(run_a, 0, "line 1\n", 10)},
         output_of(run_a, 7, "line 2\nline 3\n", 10)},
        {"checkpoint", {begun}, checkpoint_of(run_a, "page 1")},
        {"large checkpoint over another",
         {begun, checkpoint_of(run_a, large_checkpoint)},
         checkpoint_of(run_a, large_checkpoint + "d")},
        {"checkpoint over that of another run",
         {begin_of(start_of("b", 6, 2)), checkpoint_of(mark("b", 6), "old"), begun},
         checkpoint_of(run_a, "new")},
        {"checkpoint that is too old",
         {begin_of(start_of("b", 8, 2)), checkpoint_of(mark("b", 8), "new"), begun},
         checkpoint_of(run_a, "old")},
        {"finish", {begun, cancel_of("a")}, finish_of(run_a, run_status::cancelled)},
        {"abandon", {begun}, finish_of(run_a, run_status::abandoned)},
        {"cancel", {begun}, cancel_of("a")},
    };
}

inline std::vector<watched_verb> verbs_of_others() {
    return {
        {"prune",
         {begun, checkpoint_of(run_a, large_checkpoint), output_of(run_a, 0, "line"),
          finish_of(run_a, run_status::completed), begin_of(start_of("b", 8, 2))},
         prune_of(0)},
        {"add a trigger", {}, add_of(trigger_with("t"))},
        {"remove a trigger", {add_of(trigger_with("t"))}, remove_of("t")},
        {"pause", {}, pause_of("report", "full")},
        {"unpause", {pause_of("report", "full")}, resume_of("report")},
        {"unpause a published job",
         {publish_of({"report"}, "@daily", "n"), pause_of("report", "full")},
         resume_of("report")},
        {"publish", {}, publish_of({"a"}, "@daily", "n")},
        {"publish over another",
         {publish_of({"a"}, "@daily", "n")},
         publish_of({"a"}, "@hourly", "m")},
        {"retire", {publish_of({"a"}, "@daily", "n")}, retire_of({"a"}, "n")},
        {"node", {}, node_of("n", 1)},
        {"node again", {node_of("n", 1)}, node_of("n", 2)},
        {"leave", {node_of("n", 1)}, leave_of("n")},
        {"audit", {audit_of("ada")}, audit_of("bob"), true},
    };
}

}  // namespace pawl::cas
