// What is wanted of one key on this node: what is left to others for a while, what waits, in its
// order, and the one that is asked for.
//
// A machine without I/O: it is handed instants. What is let go of before it was asked for is let go
// of here, and told; what becomes of the one that is asked for is a key state's to say.
#pragma once

#include "schedule/queue/deferral.hpp"
#include "schedule/queue/queue_rules.hpp"

#include <pawl/clock.hpp>
#include <pawl/policies.hpp>
#include <pawl/types.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::schedule {

constexpr std::size_t occurrences_queued_max = 100;
constexpr std::size_t triggers_queued_max = 100;
// Skips that no caller has asked about yet; of those beyond, the oldest are forgotten.
constexpr std::size_t skips_kept_max = 1'000;

enum class request_kind {
    occurrence,  // the schedule wants it
    trigger,     // triggered manually
    orphan       // an occurrence that another node began and left
};

struct run_request {
    request_kind kind = request_kind::occurrence;
    std::optional<pawl::occurrence> occurrence{};  // of an occurrence and of an orphan
    std::string id{};                              // of a trigger; of an orphan's run
    instant not_before{};
    instant give_up{};    // no attempt is made after this
    bool passed = false;  // of an orphan: later occurrences have run since, so that the store would
                          // reject it; it is claimed without its occurrence, and its row decides
    bool begun = false;   // it has been granted here before, and was not brought to its end
};

enum class skip_reason {
    overlap,      // the previous one was still running
    too_late,     // it could not begin within the misfire window
    superseded,   // a later one came due before it could begin
    too_many,     // more are waiting than a key state keeps
    answer_lost,  // its claim was not answered, and the key was granted to another meanwhile
    forgotten,    // the store may have lost whether it has run
    paused,       // its job was
    not_its_turn  // one that came before it had not begun yet, and may not be given up
};
std::string_view text_of(skip_reason why) noexcept;

struct skipped_occurrence {
    pawl::occurrence occurrence{};
    skip_reason why = skip_reason::overlap;
    std::string holder{};  // who was in its way, in one line; empty where that is not known
};
// What its row says: an overlap is its holder, where that is known.
std::string text_of(const skipped_occurrence& one);

inline bool is_occurrence(const run_request& one) noexcept {
    return one.kind == request_kind::occurrence;
}

// Used by one thread at a time.
class key_queue {
public:
    explicit key_queue(const queue_rules& rules) : rules_{rules} {}

    // The job has changed: what waits goes by the new rules, and what runs has begun by the old.
    void follow(const queue_rules& rules) { rules_ = rules; }
    const queue_rules& rules() const noexcept { return rules_; }

    // An occurrence has come due. `late` is how long ago; `hold_back` is how long to leave it to
    // others.
    void offer_occurrence(pawl::occurrence occurrence, instant now, millis late, millis hold_back);
    // It has come due, and others are to ask for it first. False where it is wanted here already.
    bool defer_occurrence(pawl::occurrence occurrence, const deferral::timing& where);
    // One that was left to others is asked for from now on, and no longer than was said then. False
    // where it is not left to them any more.
    bool ask_for_deferred(pawl::occurrence occurrence, instant now);
    deferral& deferred() noexcept { return deferred_; }
    const deferral& deferred() const noexcept { return deferred_; }
    // What is in the control state is offered again and again, until it is gone from there. True if
    // it is new.
    bool offer_trigger(std::string id, instant now);
    bool offer_orphan(std::string id, pawl::occurrence occurrence, instant now);
    // Lets go of all occurrences that wait or are left to others, as the job is gone. Triggers
    // stay.
    void forget_occurrences();
    // The same where the job is paused: that they do not run is told.
    void skip_paused();
    // The wall clock was put back to `now`: lets go of occurrences that lie ahead of it, which
    // would keep others waiting until then. The timetable hands them out again in their time.
    void forget_ahead(occurrence now);

    // Occurrences that were let go of since the last call.
    std::vector<skipped_occurrence> take_skipped();
    bool has_skipped() const noexcept { return !skipped_.empty(); }
    // Whether this occurrence is asked for, or will be.
    bool wants_occurrence(pawl::occurrence occurrence) const {
        return wants_any([&](const run_request& one) {
            return is_occurrence(one) && one.occurrence == occurrence;
        });
    }
    bool is_idle() const noexcept { return !current_ && queue_.empty() && deferred_.empty(); }
    std::size_t waiting() const noexcept { return queue_.size(); }

    enum class stage { waiting, claiming, running };
    struct asked_for {
        explicit asked_for(run_request wanted) : what{std::move(wanted)} {}

        run_request what;
        stage at = stage::waiting;
        bool ahead = false;        // it is let go of once its claim is answered
        bool was_crowded = false;  // this node had no room for it
        bool listening = false;    // it was found busy: wait for the store's push
        millis busy_for{0};        // by what the store told then
        std::string holder{};      // who was in its way when it was last found busy
        int failures = 0;          // of the store, in a row
        int starts_failed = 0;     // here
    };
    // Null while nothing is asked for.
    asked_for* current() noexcept { return current_ ? &*current_ : nullptr; }
    const asked_for* current() const noexcept { return current_ ? &*current_ : nullptr; }
    // The next in line is asked for from now on. False when nothing waits. REQUIRES: nothing is.
    bool take_next(instant now);
    // What was begun first is finished first: the one that is asked for goes back into the line
    // where an orphan is older.
    void make_way();
    void let_go_of_current() { current_.reset(); }
    // The one that is asked for has waited for room on this node, and has it now: where occurrences
    // give way, that is for the latest. REQUIRES: no claim of it is in doubt.
    void follow_latest(instant now);
    // A run by hand has waited for it: then an occurrence that is due goes first, if there is one.
    void yield_to_occurrence(instant now);
    void skip_current(skip_reason why, std::string holder = {});
    // Came due while the claim of their predecessor was under way, which has been granted since.
    void drop_overlapped();

private:
    bool knows(pawl::occurrence occurrence);
    void offer(run_request made);
    template <class Test>
    bool wants_any(Test is_it) const {
        return (current_ && is_it(current_->what)) ||
               std::any_of(queue_.begin(), queue_.end(), is_it);
    }

    // Vectors: there is one of these for each key, most are empty, and an empty deque has a block.
    queue_rules rules_;
    std::vector<run_request>
        queue_;  // orphans first, then occurrences in their order, then triggers
    std::optional<asked_for> current_;
    deferral deferred_;
    std::vector<skipped_occurrence> skipped_;
};

}  // namespace pawl::schedule
