// Watches simulated schedules from outside: it sees what the store grants, what begins and ends,
// what is told, who is healthy; and knows by the calendar alone what had to happen.
#pragma once

#include "test_support/simulation/referee_base.hpp"
#include "test_support/simulation/schedule/plan.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pawl::simulation::schedules {

enum class law {
    runs_once,        // an at-most-once occurrence begins once at most
    one_at_a_time,    // no two runs of a key at any moment
    none_forgotten,   // an occurrence that somebody healthy could run in time was begun, or is told
                      // of
    on_time,          // and begins soon, if somebody is healthy throughout and the key is free
    completed,        // an at-least-once occurrence that began is completed in the end, or told of
    not_early,        // nothing is granted long before it is due
    paused_rests,     // a paused job begins nothing
    skipped_rests,    // an occurrence that was told as skipped long ago does not begin
    tokens_rise,      // no run of a key begins under a token below one that has begun
    no_spin,          // nobody is busy without end
    asked_once,       // what is asked for by hand begins once at most, and does or its row says why
    cancel_heard,     // a run that is cancelled ends soon, and does not begin again
    since_published,  // what came due before a job had its partitions does not begin in them
    done_rests,       // what was completed, and told to the store as done, does not begin again
    settles,          // no row of a run that is over says for ever that it goes on
    answers_recovered  // no answer counts as lost that its claim, repeated, has again
};
constexpr std::size_t laws = 16;
std::string_view name_of(law which);

// What must have happened in some seed, or it has not been tested.
enum class fact {
    grants,
    runs,
    completions,
    taken_up,  // runs of an occurrence that had been begun before
    killed,
    skipped_overlap,
    skipped_late,
    superseded,
    forgotten,  // by a store that has lost its data
    missed,
    early,
    already_done,
    crashes,
    freezes,
    cuts,
    outages,
    deploys,
    steps_back,
    steps_forward,
    pauses,
    losses,
    reloads,
    asked,      // for by hand
    cancelled,  // by hand, and ended by that
    checked     // occurrences that had to happen
};
constexpr std::size_t facts = 25;
std::string_view name_of(fact which);

struct begun_run {
    const std::string& key;
    pawl::occurrence occurrence;
    std::size_t job;
    std::size_t edition;  // that its node has
    std::size_t node;
    fence_token token;
    bool is_written;  // the journal could be reached from the look at its row on
    bool is_heard;    // and its answers came
};

// Used by one thread.
class referee : public referee_base<law, laws, fact, facts> {
public:
    referee(const world_plan& plan, const timeline& time);

    void on_grant(const std::string& key, const std::string& claim_id,
                  std::optional<pawl::occurrence> occurrence);
    // To a copy of a request that the network has made, and which was answered before.
    void on_copy_granted(const std::string& key, pawl::occurrence occurrence) {
        keys_[key].occurrences[number(occurrence)].lost = true;
    }
    // The store has freed the key of this claim, if it was the last one that was granted: the work
    // under it never began.
    void on_withdrawn(const std::string& key, const std::string& claim_id);
    // To whom: a grant that comes to a node which has died is lost with it, and one that is not
    // heard of keeps the others from running it.
    void on_granted(const std::string& key, pawl::occurrence occurrence, std::size_t node,
                    bool lives, bool hears);
    // What was granted to a node and had not begun when it died.
    void on_death(std::size_t node);
    void on_free(const std::string& key);
    // By the store, as done: this is the last one.
    void on_remembered(const std::string& key, pawl::occurrence occurrence);
    // The store has taken it for done from who completed it.
    void on_done(const std::string& key, pawl::occurrence occurrence);
    void on_begin(const begun_run& what);
    void on_end(const std::string& key, pawl::occurrence occurrence, bool completed);
    // By this node.
    void on_skip(const std::string& key, pawl::occurrence occurrence, schedule::skip_reason why,
                 std::size_t node);
    // A node has let go of it, and is to write that down: what dies with it, nobody can.
    void on_let_go(const std::string& key, pawl::occurrence occurrence, std::size_t node);
    void on_missed(std::size_t job, const schedule::occurrence_rule& when, wall_instant latest,
                   std::uint64_t count);
    void on_health(std::size_t node, bool healthy);
    void on_pause(std::size_t job, bool paused);
    // A wall clock that is wrong makes what is late look as if it were on time.
    void on_clock_step() { stepped_at_ = time_.now(); }
    // By hand.
    void on_trigger(const std::string& id, std::size_t job, std::uint32_t partition);
    void on_manual_begin(const std::string& key, const std::string& id, fence_token token);
    void on_manual_end(const std::string& key) { --keys_[key].running; }
    void on_cancel(const std::string& key, pawl::occurrence occurrence);
    nanos cancel_timeout() const;
    // So long after it was asked for.
    void check_cancelled(const std::string& key, pawl::occurrence occurrence);
    // The store has lost its data.
    void on_loss();
    // Nodes are given the next edition of a job from now on; this one has it.
    void on_reload(std::size_t job);
    void on_edition(std::size_t node, std::size_t job, std::size_t edition);
    // A node has done so many things at this instant. False: that goes on without end.
    bool on_work(std::size_t node, std::size_t handlers);
    // What the journal has to say about an occurrence, in one line; at the end.
    using row_teller =
        std::function<std::string(const std::string& job, std::uint32_t partition, occurrence)>;
    void read_rows(row_teller rows) { rows_ = std::move(rows); }
    // The same by the id of a run; empty where there is no row.
    using run_teller = std::function<std::string(const std::string& id)>;
    void read_runs(run_teller runs) { runs_ = std::move(runs); }
    // What came due before an edition of a job was first published is nobody's business.
    void on_published(std::size_t job, std::size_t edition, wall_instant when) {
        published_[job][edition] = when;
    }
    // At the end: everything that the calendar says has happened.
    void check();

private:
    struct interval {
        nanos from;
        nanos to;
    };
    struct occurrence_history {
        int grants = 0;
        int begins = 0;
        nanos first_grant{};
        nanos broken_at{};     // when it ended without being completed, the last time
        std::size_t node = 0;  // where it began last
        std::optional<nanos> completed{};
        bool skipped = false;  // for whatever reason
        nanos skipped_at{};    // the first time
        bool late = false;     // because it was too late
        std::size_t granted_to = 0;
        std::optional<std::size_t> let_go_by{};
        bool row_lost = false;   // with the node that was to write it
        bool unheard = false;    // the first grant's answer was lost
        bool unwritten = false;  // it began without its journal, the last time
        bool lost = false;       // granted to a node that died, or lost the lease, before it began
        bool open = false;       // it goes on
        std::optional<nanos> given_back{};  // by who was granted it last
        std::optional<nanos> done{};        // told to the store, by the node where it began last
        bool cancelled = false;             // somebody has asked for that
        nanos cancelled_at{};
    };
    struct held_span {
        nanos from;
        nanos to;
        std::optional<pawl::occurrence> occurrence;
    };
    struct key_history {
        std::map<std::int64_t, occurrence_history> occurrences;
        std::vector<held_span> spans;
        std::string claim_id;  // that was granted last
        int running = 0;
        fence_token begun{};                     // the newest
        std::optional<occurrence> remembered{};  // the first one that was
    };
    // A run that somebody has asked for.
    struct asked_run {
        std::size_t job = 0;
        std::uint32_t partition = 0;
        nanos at{};
        int begins = 0;
    };
    struct taken_edition {
        nanos from;
        std::size_t edition;
    };
    struct work {
        nanos since{};
        std::size_t handlers = 0;
    };

    nanos due(pawl::occurrence occurrence) const;
    void check_edition(std::size_t job, std::size_t which);
    void check_occurrence(std::size_t job, std::size_t edition, std::uint32_t partition,
                          pawl::occurrence occurrence, bool tells);
    bool skipped_by_another_edition(std::size_t job, std::uint32_t partition,
                                    pawl::occurrence occurrence) const;
    bool is_there_at_the_end(std::size_t job, const std::string& key) const;
    void check_asked();
    bool was_free(const key_history& seen, nanos from, nanos how_long) const;
    // Of an edition of this job; without end for the one that nodes have at the end.
    nanos replaced_at(std::size_t job, std::size_t edition) const;
    // When a node was healthy and had this edition.
    std::vector<interval> healthy_with(std::size_t node, std::size_t job,
                                       std::size_t edition) const;
    bool is_known(const begun_run& what) const;
    bool has_turn(const begun_run& what) const;
    bool is_recoverable(const key_history& seen, occurrence which, std::size_t node) const;
    bool must_rest(const occurrence_history& history) const;
    // Whether a store that lost its data takes it for done.
    bool lost_to_store(std::size_t job, nanos at) const;
    bool was_away(std::size_t node, nanos granted, millis ttl) const;
    bool paused_within(std::size_t job, std::size_t node, nanos from, nanos to) const;
    bool overtaken(const key_history& seen, pawl::occurrence occurrence) const;
    bool open_at(const key_history& seen, occurrence before, nanos when) const;
    bool passed_by(const key_history& seen, pawl::occurrence occurrence, std::size_t node,
                   nanos back) const;
    // The same under any key of the job: with slots a later occurrence of another one may have it
    // left behind.
    bool slots_passed_by(std::size_t job, std::size_t edition, pawl::occurrence occurrence,
                         std::size_t node, nanos back) const;
    bool may_be_full(nanos from, nanos to) const;
    bool left_behind(std::size_t job, std::size_t edition, pawl::occurrence occurrence,
                     const occurrence_history& history) const;
    bool held_within(const key_history& seen, occurrence but, nanos from, nanos to) const;

    // Constant after construction
    const world_plan& plan_;
    // State
    std::map<std::string, key_history> keys_;
    std::vector<std::map<std::int64_t, bool>> missed_;  // for each job: occurrences that were told
    std::vector<std::vector<interval>> healthy_;        // for each node
    std::vector<std::vector<interval>> paused_;         // for each job
    std::vector<nanos> born_;                           // each node, or its last death
    std::vector<work> work_;
    std::vector<std::map<std::size_t, wall_instant>> published_;  // for each job its editions
    std::vector<std::vector<nanos>> reloaded_;                    // for each job, from 0 on
    std::vector<std::unordered_map<std::size_t, std::vector<taken_edition>>>
        taken_;                               // by node, job
    std::map<std::string, asked_run> asked_;  // by id
    std::vector<nanos> losses_;
    row_teller rows_;
    run_teller runs_;
    std::optional<nanos> stepped_at_{};
};

}  // namespace pawl::simulation::schedules
