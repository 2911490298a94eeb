// What becomes of the first in the queue of a key: when it is claimed, when it is asked for again,
// and when it is let go of and why.
//
// A machine without I/O: it is handed instants and the store's answers, and says what to do next. A
// job has one key state for each of its partitions. Key states of different nodes know nothing of
// each other; that an occurrence runs once is the store's doing, and what a key state adds is that
// none is forgotten.
#pragma once

#include "schedule/queue/key_queue.hpp"

#include <pawl/clock.hpp>
#include <pawl/spi/lease_store.hpp>
#include <pawl/types.hpp>

#include <optional>
#include <string>

namespace pawl::schedule {

// How often a key state asks a store again that failed: with full jitter, doubling in between.
constexpr millis store_retry_first{250};
constexpr millis store_retry_longest{5'000};
// A busy key is asked for again at the latest after this, whatever it told.
constexpr millis busy_retry_longest{60'000};

// What could not be started here is left to the others in line before it is asked for again.
constexpr millis start_retry_first{1'000};

// How a run ended.
enum class ending {
    settled,       // its occurrence is over
    unfinished,    // a node is to run it again
    start_failed,  // the same, and no work of it began here
    not_started    // nor did any, and the store has taken its occurrence back
};

// Used by one thread at a time.
class key_state {
public:
    explicit key_state(const queue_rules& rules) : queue_{rules} {}

    // Where occurrences, triggers and orphans are offered.
    key_queue& queue() noexcept { return queue_; }
    const key_queue& queue() const noexcept { return queue_; }

    enum class act {
        nothing,  // there is no request
        pause,    // until `until`; an offer may come before
        claim,    // once the key has changed or `timeout` is over; then say what came of it
        await,    // the end of what goes on
    };
    struct step {
        act what = act::nothing;
        instant until{};
        millis timeout{0};
    };
    step next(instant now);
    // REQUIRES: a claim, or what came of it, goes on.
    const run_request& wanted() const { return queue_.current()->what; }

    // What came of a claim.
    void on_granted();
    // `marked`: the store remembers this occurrence, or a later one, as done or begun (last_done).
    // `holder`: who that is, in one line, for the row of an occurrence that gives way.
    // `overlaps`: the holder runs another occurrence, and this one does not wait for that.
    void on_busy(const busy& why, bool marked, instant now, double uniform, std::string holder = {},
                 bool overlaps = false);
    void on_done();
    // The store remembers a later occurrence than the one that was asked for: this one has run
    // before, or never will, and then a row has to say so.
    void on_passed();
    // It counts as done, and the store remembers neither it nor a later one: the same row.
    void on_forgotten();
    // Said before what came of it: a request was not answered, so its own claim may be what the
    // store remembers. Found done then, or marked, a row has to say so, unless another node has run
    // it; also under another id, after the first was withdrawn.
    void on_unanswered();
    void on_failure(instant now, double uniform);
    // The claim was not made: this node has no room. It is tried again for as long as there is
    // time.
    void on_no_room(instant now);
    // This node is full, and while it is a later occurrence may come due; and there is room.
    void on_full();
    // `may_fire`: an occurrence may be asked for in the place of a run by hand.
    void on_room(instant now, bool may_fire = true);
    // It was granted, and is given back before it begins; then it is called off. What the store
    // remembers from here on is no claim of it that was not answered.
    void on_given_back();
    void on_called_off();
    // The same, as the job is paused: then its row says so.
    void on_paused();
    // The run that was granted has ended. Left unfinished, as with a lost lease, an at-least-once
    // occurrence is asked for again, by this key state too: there may be no journal that offers it.
    // One that was not started is asked for again, whatever the mode, within its misfire window.
    // Where its work did not begin that may be for this node's want of something: then ever later,
    // so that another node can take it.
    void on_ended(ending how, instant now, double uniform);

    bool is_running() const noexcept {
        return queue_.current() && queue_.current()->at == key_queue::stage::running;
    }

private:
    bool is_claiming() const noexcept;
    bool may_make_way() const noexcept;
    void again(instant when);
    void back_off(int& failures, millis first, instant now, double uniform);
    bool tell_outrun();

    key_queue queue_;
    std::optional<occurrence> in_doubt_;  // claimed here, and not answered
};

}  // namespace pawl::schedule
