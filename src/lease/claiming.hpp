// Asks for a key until it is granted, rejected, or no longer wanted (docs/protocol.md, 2, 8 and
// 12).
//
// A machine without I/O: it is handed instants of the lease clock and what the store answered, and
// says what to do next. After an answer that was lost, or came too late, it sends the same claim
// again, because only that is safe; and if it gives up with an outcome unknown, it says to withdraw
// the claim, or leaves it to its caller to ask again under the same id.
#pragma once

#include "lease/renewal_timing.hpp"

#include <pawl/spi/lease_store.hpp>

#include <optional>
#include <string>
#include <variant>

namespace pawl::leasing {

// What the caller is willing to wait for. Constant for one claim.
struct claim_plan {
    renewal_timing how;
    nanos wait{};     // for a busy key; 0: do not wait
    int retries = 0;  // of a busy key, when not waiting
    nanos backoff{};  // before each of those, with full jitter
    store_down when_down = store_down::fail;
    nanos settle{};  // how long to go on asking after an answer was lost
    // By when a store that has failed must have answered a claim that does not wait for a busy key.
    // max: within `settle`.
    instant answer_by = instant::max();
    nanos poll{};  // how long to rely on a push at most, where the store has none; 0: it has
    // Whether a claim whose outcome is unknown ends with that, or is asked for again later.
    enum class unknown { withdraw, keep } if_unknown = unknown::withdraw;
    // What its grant marks as done.
    std::optional<occurrence> marks{};
};

// What has been asked for under one claim id so far, by however many machines one after another.
struct claim_attempts {
    // When the first request left: the store may count max_lifetime from then.
    std::optional<instant> first_sent{};
    instant last_sent{};
    bool unanswered = false;  // one of them may have been granted, or may be yet
};

struct granted {
    grant what;
    instant sent;        // when the request left that this answers: trust is counted from it
    instant first_sent;  // of the claim's attempts
    bool repeated;       // a copy of the request may still be on its way
};
struct cancelled {};  // by the caller

using claim_outcome = acquire_result<granted, failure, cancelled>;

// Used by one thread at a time.
class claiming {
public:
    claiming(const claim_plan& plan, instant now, claim_attempts so_far = {});

    enum class act {
        send,      // the claim, and say so by sent()
        await,     // the answer to what was sent, until `until` at most, else say unanswered()
        listen,    // for a change of the key, until `until` at most, and say woken()
        pause,     // until `until`, and say woken()
        withdraw,  // the claim whose outcome is unknown; then the outcome is there
        done       // outcome() is there
    };
    struct step {
        act what;
        instant until;
    };
    step next(instant now) const;

    void sent(instant now);
    void answered(result<acquire_result<grant>> answer, instant now, double uniform);
    // The time was up before the answer came.
    void unanswered();
    // The store answered with what can be no answer to the claim.
    void mistaken(failure why);
    void woken(instant now);
    // Where the store has no push: from the next answer on, look again after `poll`.
    void look_after(nanos poll) { plan_.poll = poll; }
    void withdrawn();
    void cancel();

    const claim_outcome& outcome() const { return *outcome_; }
    // Under which token the key was seen held, for wait_change().
    fence_token seen() const { return seen_; }
    // Whether the last request found no store to be sent to.
    bool is_store_gone() const { return last_failure_ && last_failure_->code == errc::unreachable; }
    // For the next machine under the same id, once this one is done.
    const claim_attempts& attempts() const { return attempts_; }

private:
    enum class state { ready, in_flight, listening, pausing, withdrawing, done };

    void on_grant(grant what, instant now, double uniform);
    // `longest_use`: of such a lease, had it come at once.
    void on_late_grant(nanos longest_use, instant now, double uniform);
    void on_busy(busy why, instant now, double uniform);
    void on_failure(failure why, instant now, double uniform);
    failure with_unknown(failure why) const;
    void finish(claim_outcome outcome);
    bool may_wait(instant now) const { return now < give_up_; }
    // A grant that came late.
    bool may_repeat(instant now) const { return now < settle_by_ || may_wait(now); }
    // By when an answer must be there of a store that has failed.
    instant answer_by() const { return plan_.wait.count() > 0 ? give_up_ : plan_.answer_by; }
    nanos full_jitter(nanos longest, double uniform) const;

    // Constant after construction
    claim_plan plan_;
    instant give_up_;    // for a busy key
    instant settle_by_;  // for a store that does not answer
    // State
    state state_ = state::ready;
    claim_attempts attempts_;
    instant until_{};
    fence_token seen_{};
    int busy_retries_ = 0;
    int failures_ = 0;
    int late_grants_ = 0;                  // in which no time was left to use the lease
    std::optional<failure> last_failure_;  // of the last request that was answered, or was not
    int early_wakes_ = 0;
    nanos wake_spacing_{};         // at most, after what the last answer said
    bool asked_for_more_ = false;  // of a grant that left little time
    std::optional<claim_outcome> outcome_;
};

}  // namespace pawl::leasing
