// Keeps one lease alive and says until when it is valid (docs/protocol.md, 8 to 11).
//
// A machine without I/O: it is handed instants of the lease clock, and decides; src/runtime sends
// what it decides to send. Randomness is handed in too, as a number from 0 to 1.
#pragma once

#include "lease/renewal_timing.hpp"

#include <pawl/spi/lease_store.hpp>

namespace pawl::leasing {

// Why a lease is no longer believed in.
enum class loss {
    none,
    taken,           // the store said so: expired there, taken, or force-released
    validity_ended,  // no renewal was answered in time
    lifetime_ended   // max_lifetime has passed
};

// Used by one thread at a time.
class heartbeat {
public:
    // `claimed` is when the claim that was granted had been sent: the store may have started the
    // lease at any moment since.
    heartbeat(const renewal_timing& how, instant claimed, double uniform)
        : heartbeat{how, claimed, claimed, uniform} {}
    // `first_claimed` is when the claim was sent for the first time, if it was repeated: the store
    // may count the lifetime of the lease from then.
    heartbeat(const renewal_timing& how, instant claimed, instant first_claimed, double uniform);

    enum class act {
        wait,   // until `until`
        renew,  // send a renewal, and say so by renewal_sent()
        stop,   // tell the job to stop, and say so by stop_told()
        lose    // the lease is lost; nothing more comes
    };
    struct step {
        act what;
        instant until;
    };
    step next(instant now) const;

    void renewal_sent(instant now, double uniform);
    // `sent` is what renewal_sent() was told for the request that this answers.
    void renewal_answered(instant sent, renewal answer, instant now, double uniform);
    void stop_told() { stop_told_ = true; }
    // From now on only its caller renews it.
    void leave_renewal_to_caller() { how_.renew = renewal_mode::manual; }

    bool valid(instant now) const { return why(now) == loss::none; }
    loss why(instant now) const;
    instant valid_until() const { return valid_until_; }
    // When max_lifetime is over; instant::max() where there is none.
    instant lifetime_end() const;
    instant stop_at() const { return valid_until_ - how_.stop_margin; }
    // Renewals in a row that had no answer; for people to read.
    int failures() const { return failures_; }

private:
    bool renewal_helps() const;
    instant jittered(instant from, nanos after, double uniform) const;

    // Constant after construction
    renewal_timing how_;
    instant first_claimed_;
    // State
    instant valid_until_;
    instant renew_at_;
    int failures_ = 0;
    int unanswered_ = 0;
    bool taken_ = false;
    bool stop_told_ = false;
};

}  // namespace pawl::leasing
