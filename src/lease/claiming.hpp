// Asks for a key until it is granted, refused, or no longer wanted (docs/protocol.md, 2, 8 and 12).
//
// A machine without I/O: it is handed instants of the lease clock and what the store answered, and
// says what to do next. After an answer that was lost it sends the same claim again, because only
// that is safe; and if it gives up with an outcome unknown, it says to withdraw the claim.
#pragma once

#include "lease/rhythm.hpp"

#include <pawl/spi/lease_store.hpp>

#include <optional>
#include <string>
#include <variant>

namespace pawl::leasing {

// What the caller is willing to wait for. Constant for one claim.
struct claim_plan {
    rhythm how;
    nanos wait{};     // for a busy key; 0: do not wait
    int retries = 0;  // of a busy key, when not waiting
    nanos backoff{};  // before each of those, with full jitter
    store_down when_down = store_down::skip;
    nanos settle{};  // how long to go on asking after an answer was lost
    nanos poll{};    // how long to rely on a push at most, where the store has none; 0: it has
};

struct granted {
    grant what;
    instant sent;  // when the request left that this answers: trust is counted from it
    // When the first request with this id left: the store may count max_lifetime from then.
    instant first_sent;
};
struct cancelled {};

using claim_outcome = std::variant<granted, busy, already_done, failure, cancelled>;

// Used by one thread at a time.
class claiming {
public:
    claiming(const claim_plan& plan, instant now);

    enum class act {
        send,      // the claim, and say so by sent()
        await,     // the answer to what was sent
        listen,    // for a change of the key, until `until` at most, and say woken()
        pause,     // until `until`, and say woken()
        withdraw,  // the claim whose outcome is unknown; then the outcome is there
        renew_id,  // the claim was granted too late to be trusted: withdraw it and go on with a new
                   // id
        done       // outcome() is there
    };
    struct step {
        act what;
        instant until;
    };
    step next(instant now) const;

    void sent(instant now);
    void answered(result<verdict> answer, instant now, double chance);
    void woken(instant now);
    void withdrawn(instant now);
    void cancel(instant now);

    const claim_outcome& outcome() const { return *outcome_; }
    // Under which token the key was seen held, for wait_change().
    fence_token seen() const { return seen_; }

private:
    enum class state { ready, in_flight, listening, pausing, withdrawing, renewing_id, done };

    void on_grant(grant what, instant now);
    void on_busy(busy why, instant now, double chance);
    void on_failure(failure why, instant now, double chance);
    void finish(claim_outcome outcome);
    bool may_wait(instant now) const { return now < give_up_; }
    nanos full_jitter(nanos longest, double chance) const;

    // Constant after construction
    claim_plan plan_;
    instant give_up_;    // for a busy key
    instant settle_by_;  // for a store that does not answer
    // State
    state state_ = state::ready;
    instant sent_{};
    std::optional<instant> first_sent_;  // with this id
    instant until_{};
    fence_token seen_{};
    int busy_retries_ = 0;
    int failures_ = 0;
    int early_wakes_ = 0;
    bool uncertain_ = false;  // a claim with this id may have been granted
    std::optional<claim_outcome> outcome_;
};

}  // namespace pawl::leasing
