// Lets other processes have a key that this process has just had (docs/library.md, "Waiting").
//
// A process that releases a key hears first that it is free: of a process that claims it again at
// once, because it has more to do or others of its threads wait, the processes that wait for the
// store's push would hardly ever get it. So where others are known to want the key, the process
// holds its next claim back for as long as theirs take; and where none are known, it does so now
// and then, to see whether there are any. Nor do all hear of a push at the same time, and the order
// may always be the same: a process that has had the key more recently than others waits longer
// than they do.
//
// Where the store pushes nothing, waiters look at the key now and then, and what others take is as
// long as their next look. So a process has the key for a while before it holds back, but then for
// a whole interval of theirs; and who waits for a key that passes quickly looks more often.
//
// A machine without I/O, of one key.
#pragma once

#include "lease/renewal_timing.hpp"
#include "lease/turn_order.hpp"

#include <pawl/clock.hpp>

#include <chrono>

namespace pawl::leasing {

// Used by one thread at a time.
class yielding {
public:
    // How long to hold back a claim that waits for the key; 0: not at all. `round_trip` is what a
    // request to the store takes, and `poll` how often at least others look at a key of which the
    // store tells them nothing; 0: it tells them.
    nanos before_claim(instant now, nanos round_trip, nanos poll = {});
    // The same once the store has told that the key may be free.
    nanos after_push(nanos round_trip);
    // When to look at the key again of which the store tells nothing: after `poll`, or sooner
    // while those who have it change.
    nanos until_next_look(instant now, nanos poll) const;
    // What became of the claim: another process has the key, or it was granted. `owner` tells one
    // from another, and `holder` one turn of it from the next.
    void rejected(std::size_t owner, fence_token holder, instant now);
    void granted(instant now);
    // What was granted has ended: others may have it from now on.
    void released(instant now) { free_since_ = now; }

private:
    // Held back in vain that often, one after the other: no other process wants it any more.
    static constexpr int in_vain_max = 4;
    // How long others may take, beyond the round trips of a push and a claim.
    static constexpr nanos step_first = std::chrono::milliseconds{3};
    static constexpr nanos step_max = std::chrono::milliseconds{50};
    // How often to see whether anybody wants it: seldom at last, as none did.
    static constexpr nanos probe_first = std::chrono::milliseconds{100};
    static constexpr nanos probe_max = std::chrono::milliseconds{500};
    // Looked for among those who look now and then, that takes longer, and comes more seldom.
    static constexpr nanos probe_max_polled = std::chrono::seconds{5};

    // Parts of the interval at which a key is looked at: the least between two looks and the least
    // turn of a process; and what a probe takes, in which each that looks so often has looked.
    static constexpr int looks_in_poll_max = 16;
    static constexpr int probes_in_poll = 8;

    // Between the claims of two that come one after the other, beyond half a round trip.
    static constexpr nanos spacing = std::chrono::microseconds{500};
    // Of those that others come before: one that waits for too long hears of no turn but its own.
    static constexpr std::size_t spacings_max = 2;
    // No other knows of a process that always hears last. So one whose turn it is lets it pass now
    // and then: seldom at last, as no new process took it.
    static constexpr int turns_until_passed_first = 2;
    static constexpr int turns_until_passed_max = 16;

    turn_order order_;
    bool had_it_ = false;     // the last one to be granted the key, as far as is known
    bool contended_ = false;  // another process has been seen to have it
    bool held_back_ = false;  // the claim that is under way
    instant free_since_{};    // what this process had
    int in_vain_ = 0;
    nanos step_ = step_first;
    nanos poll_{};  // as long as nothing is pushed
    nanos probe_every_ = probe_first;
    instant probe_at_{};
    instant had_since_{};     // this turn of this process, where nothing is pushed
    fence_token holder_{};    // the last other one that was seen to have it
    instant holder_since_{};  // or later: what was known before is from then
    instant rejected_at_{};
    int turns_ = 0;  // of this process, since it let one pass
    int turns_until_passed_ = turns_until_passed_first;
};

}  // namespace pawl::leasing
