// Where the schedules of a node stand: since when they exist, what of them has run, and what may
// run before that is known.
//
// A machine without I/O: it is handed what the journal and the store have told, and says from where
// a schedule goes on, which occurrences may run, and of which others may have told what became.
#pragma once

#include "schedule/queue/queue_rules.hpp"
#include "schedule/timing/timetable.hpp"

#include <pawl/errors.hpp>
#include <pawl/policies.hpp>
#include <pawl/types.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace pawl::schedule {

// Used by one thread at a time.
class positions {
public:
    // What the journal told when the jobs were published: since when it knows each of them.
    void on_published(const std::string& job, std::int64_t since) { since_[job] = since; }
    // A reload has added it, or changed when it runs, or over how many partitions: what came due
    // before is past, and what the journal knew of it as it was says nothing any more.
    void on_changed(const std::string& job, wall_instant now) {
        since_[job] = number(occurrence_of(now));
    }
    void forget(const std::string& job) { since_.erase(job); }
    void on_all_published() { knows_since_ = true; }
    // A journal that rejects them will not tell more by being waited for.
    void on_not_published(const failure& why) { knows_since_ = !may_pass(why.code); }
    // Whether all is known that the journal will tell.
    bool knows_since() const noexcept { return knows_since_; }
    // The job did not exist yet.
    bool is_before_all(const std::string& job, occurrence which) const;

    // What the store told about the occurrences that have run.
    enum class knowledge { all, in_part };
    void on_store_read(knowledge how_much, wall_instant now);
    // As long as it is not, the store is to be asked again.
    bool are_known() const noexcept { return are_known_; }

    // A job with a schedule.
    struct scheduled_job {
        explicit scheduled_job(const std::string& called) : name{called} {}

        const std::string& name;
        outage on_store_down = outage::wait;
        pawl::delivery delivery = pawl::delivery::at_most_once;
        bool has_a_place = false;  // in the timetable
        std::optional<occurrence> last{};
        bool has_unrun_partition = false;  // of which the store knows nothing

        // The partition that is behind decides; the others find their occurrence done.
        void has_run(occurrence which) { last = last ? std::min(*last, which) : which; }
    };
    // The same of a job with slots, by the last occurrence of each. Where occurrences are taken in
    // their order it is the one before the first that its slot has not run; else the latest, as a
    // node that was not there catches up with no more than the latest that is due.
    std::optional<occurrence> last_of_slots(const std::string& job, const occurrence_rule& rule,
                                            const queue_rules& queue,
                                            std::vector<std::optional<occurrence>> slots,
                                            wall_instant now) const;
    // The node's, at the time the store was read.
    struct state_of_node {
        knowledge store = knowledge::all;
        bool is_ready = false;  // schedules have been handed out before
        bool knows_pauses = false;
        millis retention = retention_default;  // of the store
    };
    // After which instant its schedule goes on; nothing: it stays as it is, for now.
    std::optional<wall_instant> begin_after(const scheduled_job& which, const state_of_node& node,
                                            wall_instant now) const;

    // What is due before is claimed first: a later occurrence would pass it.
    bool may_run(outage on_store_down) const noexcept {
        return are_known_ || on_store_down == outage::run_without_lease;
    }
    // It came due before this node knew what had run.
    bool was_due_before(wall_instant due) const noexcept { return due <= caught_up_until_; }
    // Whether others may have told what became of an occurrence, so that it has to be asked for:
    // it came due before this node knew what had run or, where a busy key is given way to, so long
    // ago.
    enum class when_busy { gives_way, waits };
    bool catches_up(wall_instant due, wall_instant now, when_busy how) const noexcept {
        return was_due_before(due) ||
               (how == when_busy::gives_way && now - due > lateness_tolerated);
    }

private:
    std::unordered_map<std::string, std::int64_t> since_;  // by job
    bool knows_since_ = true;  // unless the journal was away when it was asked
    bool are_known_ = true;    // unless the store was
    wall_instant caught_up_until_{};
};

}  // namespace pawl::schedule
