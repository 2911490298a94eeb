// Lets other processes have a key that this process has just had (docs/library.md, "Waiting").
//
// Whoever releases a key hears first that it is free: of a process that claims it again at once,
// because it has more to do or others of its threads wait, the processes that wait for the store's
// push would hardly ever get it. So where others are known to want the key, the process holds its
// next claim back for as long as theirs take; and where none are known, it does so now and then, to
// see whether there are any. Nor do all hear of a push at the same time, and the order may always
// be the same: a process that has had the key more recently than others waits longer than they
// do.
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
    // request to the store takes.
    nanos before_claim(instant now, nanos round_trip);
    // The same once the store has told that the key may be free.
    nanos after_push(nanos round_trip);
    // What became of the claim: another process has the key, or it was granted. `owner` tells one
    // from another, and `holder` one turn of it from the next.
    void refused(std::size_t owner, fence_token holder);
    void granted(instant now);
    // What was granted has ended: others may have it from now on.
    void released(instant now) { free_since_ = now; }

private:
    // Held back in vain that often, one after the other: nobody else wants it any more.
    static constexpr int in_vain_max = 4;
    // How long others may take, beyond the round trips of a push and a claim.
    static constexpr nanos step_first = std::chrono::milliseconds{3};
    static constexpr nanos step_max = std::chrono::milliseconds{50};
    // How often to see whether anybody wants it: seldom at last, as nobody did.
    static constexpr nanos probe_first = std::chrono::milliseconds{100};
    static constexpr nanos probe_max = std::chrono::milliseconds{500};

    // Between the claims of two that come one after the other, beyond half a round trip.
    static constexpr nanos spacing = std::chrono::microseconds{500};
    // Of those that others come before: one that waits for too long hears of no turn but its own.
    static constexpr std::size_t spacings_max = 2;
    // No other knows of a process that always hears last. So one whose turn it is lets it pass now
    // and then: seldom at last, as nobody new took it.
    static constexpr int turns_until_passed_first = 2;
    static constexpr int turns_until_passed_max = 16;

    turn_order order_;
    bool had_it_ = false;     // the last one to be granted the key, as far as is known
    bool contended_ = false;  // another process has been seen to have it
    bool held_back_ = false;  // the claim that is under way
    instant free_since_{};    // what this process had
    int in_vain_ = 0;
    nanos step_ = step_first;
    nanos probe_every_ = probe_first;
    instant probe_at_{};
    int turns_ = 0;  // of this process, since it let one pass
    int turns_until_passed_ = turns_until_passed_first;
};

}  // namespace pawl::leasing
