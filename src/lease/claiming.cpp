#include "lease/claiming.hpp"

#include "base/ensure.hpp"

#include <algorithm>
#include <utility>

namespace pawl::leasing {
namespace {

using std::chrono::milliseconds;

constexpr nanos store_backoff_first = milliseconds{50};
constexpr nanos store_backoff_max = milliseconds{5000};
// Of grants in a row that came too late to be of use: more of the same are not to be had.
constexpr int late_grants_max = 8;
// After the holder's time is up, waiters of many processes do not all ask in the same instant.
constexpr nanos expiry_jitter_max = milliseconds{100};
constexpr nanos wake_spacing_first = std::chrono::microseconds{50};
// Of hints that turned out to be none, and of those that were true: a claim that has waited for
// long must not be slower than who has just come.
constexpr nanos wake_spacing_max = milliseconds{50};
constexpr nanos wake_spacing_of_true = milliseconds{5};

// A caller that says how long to wait waits no longer for a store that is away.
nanos settling(const claim_plan& plan) {
    if (plan.wait.count() == 0) return plan.settle;
    return plan.when_down == store_down::retry ? plan.wait : std::min(plan.wait, plan.settle);
}

}  // namespace

claiming::claiming(const claim_plan& plan, instant now, claim_attempts so_far)
    : plan_{plan},
      give_up_{now + plan.wait},
      settle_by_{std::min(now + settling(plan), plan.answer_by)},
      attempts_{so_far} {}

claiming::step claiming::next(instant now) const {
    switch (state_) {
        case state::ready:
            return {act::send, now};
        case state::in_flight:
            // A store that was there a moment ago may take its time over the last look.
            return {act::await,
                    last_failure_ ? std::max(answer_by(), attempts_.last_sent) : instant::max()};
        case state::listening:
            return {act::listen, until_};
        case state::pausing:
            return {now < until_ ? act::pause : act::send, until_};
        case state::withdrawing:
            return {act::withdraw, now};
        case state::done:
            return {act::done, now};
    }
    return {act::done, now};
}

void claiming::sent(instant now) {
    base::ensure(state_ == state::ready || state_ == state::pausing);
    state_ = state::in_flight;
    attempts_.last_sent = now;
    if (!attempts_.first_sent) attempts_.first_sent = now;
}

void claiming::answered(result<acquire_result<grant>> answer, instant now, double uniform) {
    base::ensure(state_ == state::in_flight);
    if (answer.has_error()) return on_failure(answer.error(), now, uniform);
    last_failure_.reset();
    if (auto* won = std::get_if<grant>(&*answer)) return on_grant(std::move(*won), now, uniform);
    if (auto* done = std::get_if<already_done>(&*answer)) {
        done->answer_lost = attempts_.unanswered && plan_.marks == done->last;
        return finish(*done);
    }
    on_busy(std::get<busy>(std::move(*answer)), now, uniform);
}

void claiming::on_grant(grant what, instant now, double uniform) {
    // An answer that is so late that no trust is left is worth nothing. Asked for again, the grant
    // is the same one, with a later end; a new id would find the key held by the old.
    // A store may grant less than was asked, and then there is as much less to trust.
    const auto share = std::min(1.0, std::chrono::duration<double>(what.ttl) / plan_.how.ttl);
    const std::chrono::duration<double, std::nano> useful{plan_.how.trust - plan_.how.stop_margin};
    const auto longest = std::chrono::duration_cast<nanos>(useful * share);
    const auto sent = attempts_.last_sent;
    const bool useless = now >= sent + longest;
    if (useless) return on_late_grant(longest, now, uniform);
    // Work that begins with its end in sight may be stopped before it has done anything. Once is
    // enough: of a store that is always slow no more can be had.
    const bool hasty = now >= sent + longest / 2 && !std::exchange(asked_for_more_, true);
    if (hasty && may_repeat(now)) {
        attempts_.unanswered = true;
        state_ = state::ready;
        return;
    }
    const bool repeated = std::exchange(attempts_.unanswered, false);
    finish(granted{std::move(what), sent, *attempts_.first_sent, repeated});
}

// The first may have been chance. From the second on a request at once would keep the key from all
// others, and this process from everything else, for as long as the caller waits.
void claiming::on_late_grant(nanos longest_use, instant now, double uniform) {
    attempts_.unanswered = asked_for_more_ = true;
    const bool may_help = longest_use.count() > 0 && may_repeat(now);
    if (!may_help || ++late_grants_ > late_grants_max)
        return finish(failure{errc::outcome_unknown,
                              "the store granted the key too late for the lease to be valid"});
    if (late_grants_ == 1) {
        state_ = state::ready;
        return;
    }
    const auto longest =
        std::min<nanos>(store_backoff_first * (1 << (late_grants_ - 2)), store_backoff_max);
    until_ = std::min(now + longest / 2 + full_jitter(longest / 2, uniform),
                      std::max(settle_by_, give_up_));
    state_ = state::pausing;
}

void claiming::on_busy(busy why, instant now, double uniform) {
    // Jittered, or a claim that was late once would be late at each hand-over.
    const bool was_true = number(seen_) != 0 && why.holder != seen_;
    wake_spacing_ = was_true ? full_jitter(wake_spacing_of_true, uniform) : wake_spacing_max;
    seen_ = why.holder;
    if (may_wait(now)) {
        nanos rest = why.remaining;
        if (plan_.poll.count() > 0) rest = std::min(rest, plan_.poll);
        rest += full_jitter(std::min(rest / 10 + milliseconds{1}, expiry_jitter_max), uniform);
        until_ = std::min(now + rest, give_up_);
        // What is early or quarantined changes by time alone: no push will come.
        const bool held = why.reason == busy_reason::held || why.reason == busy_reason::cooldown;
        state_ = held ? state::listening : state::pausing;
        return;
    }
    if (busy_retries_ < plan_.retries) {
        ++busy_retries_;
        until_ = now + full_jitter(plan_.backoff * 2, uniform);
        state_ = state::pausing;
        return;
    }
    finish(std::move(why));
}

void claiming::on_failure(failure why, instant now, double uniform) {
    if (why.code == errc::outcome_unknown) attempts_.unanswered = true;
    last_failure_ = why;
    // What became of a request that was sent is asked for, but not of a store that is gone by then.
    const bool patient = plan_.when_down == store_down::retry || why.code == errc::outcome_unknown;
    if (may_pass(why.code) && patient && now < settle_by_) {
        const auto longest = std::min<nanos>(store_backoff_first * (1 << std::min(failures_, 10)),
                                             store_backoff_max);
        ++failures_;
        until_ = std::min(now + full_jitter(longest, uniform), settle_by_);
        state_ = state::pausing;
        return;
    }
    finish(with_unknown(std::move(why)));
}

// That the last request did not leave says nothing of the one before.
failure claiming::with_unknown(failure why) const {
    if (attempts_.unanswered && why.code == errc::unreachable) why.code = errc::outcome_unknown;
    return why;
}

void claiming::unanswered() {
    base::ensure(state_ == state::in_flight && last_failure_.has_value());
    attempts_.unanswered = true;
    auto why = *last_failure_;
    why.code = errc::outcome_unknown;
    // Whatever it rejected before, it has fallen silent since.
    why.answered = false;
    finish(std::move(why));
}

// It may have granted something all the same.
void claiming::mistaken(failure why) {
    base::ensure(state_ == state::in_flight);
    attempts_.unanswered = true;
    finish(std::move(why));
}

void claiming::woken(instant now) {
    if (state_ == state::pausing) {
        // Another request would have no time to be answered.
        const bool late = answer_by() != instant::max() && now >= settle_by_;
        if (last_failure_ && late) return finish(with_unknown(*last_failure_));
        state_ = state::ready;
    }
    if (state_ != state::listening) return;
    // Wake-ups that come hard upon one another are slowed down: a hint is never worth a tight poll.
    const auto spacing =
        std::min<nanos>(wake_spacing_first * (1 << std::min(early_wakes_, 10)), wake_spacing_);
    const auto sent = attempts_.last_sent;
    if (now >= sent + wake_spacing_max)
        early_wakes_ = 0;
    else
        ++early_wakes_;
    if (now >= sent + spacing || now >= give_up_) {
        // The last look at a busy key is taken at the very end of the wait, and is then final.
        state_ = state::ready;
        return;
    }
    until_ = std::min(sent + spacing, give_up_);
    state_ = state::pausing;
}

void claiming::withdrawn() {
    base::ensure(state_ == state::withdrawing);
    attempts_.unanswered = false;
    state_ = state::done;
}

void claiming::cancel() {
    if (state_ == state::done || state_ == state::withdrawing) return;
    attempts_.unanswered = attempts_.unanswered || state_ == state::in_flight;
    finish(cancelled{});
}

// A request whose answer was lost may still be on its way: a caller that gives up withdraws it,
// also when a later request under the same id was rejected.
void claiming::finish(claim_outcome outcome) {
    outcome_ = std::move(outcome);
    const bool withdraws =
        attempts_.unanswered && plan_.if_unknown == claim_plan::unknown::withdraw;
    state_ = withdraws ? state::withdrawing : state::done;
}

nanos claiming::full_jitter(nanos longest, double uniform) const {
    return std::chrono::duration_cast<nanos>(longest * uniform);
}

}  // namespace pawl::leasing
