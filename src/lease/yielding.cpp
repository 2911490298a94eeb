#include "lease/yielding.hpp"

#include <algorithm>

namespace pawl::leasing {

nanos yielding::before_claim(instant now, nanos round_trip, nanos poll) {
    poll_ = poll;
    const auto look = contended_ ? poll : poll / probes_in_poll;
    const auto mine_at = free_since_ + (poll.count() > 0 ? look : step_) + 3 * round_trip;
    const auto from = contended_ ? had_since_ + poll / looks_in_poll_max : probe_at_;
    held_back_ = had_it_ && now < mine_at && now >= from;
    return held_back_ ? mine_at - now : nanos{0};
}

nanos yielding::until_next_look(instant now, nanos poll) const {
    // Who has had it for long has it for long yet, as far as can be told.
    return std::clamp((now - holder_since_) / looks_in_poll_max, poll / looks_in_poll_max, poll);
}

nanos yielding::after_push(nanos round_trip) {
    auto places = std::min(order_.before_me(), spacings_max);
    if (places == 0 && order_.has_had_it() && ++turns_ > turns_until_passed_) {
        places = spacings_max + 1;
        turns_ = 0;
        turns_until_passed_ = std::min(turns_until_passed_ * 2, turns_until_passed_max);
    }
    return static_cast<nanos::rep>(places) * (spacing + round_trip / 2);
}

void yielding::rejected(std::size_t owner, fence_token holder, instant now) {
    if (holder != holder_) holder_since_ = std::max(rejected_at_, free_since_);
    holder_ = holder;
    rejected_at_ = now;
    if (order_.seen(owner, holder)) turns_until_passed_ = turns_until_passed_first;
    if (held_back_) step_ = std::max(step_first, step_ * 3 / 4);
    held_back_ = false;
    had_it_ = false;
    contended_ = true;
    in_vain_ = 0;
    probe_every_ = probe_first;
}

void yielding::granted(instant now) {
    order_.mine();
    free_since_ = now;
    if (!had_it_ || held_back_) had_since_ = now;
    if (!had_it_) {
        had_it_ = true;
        probe_at_ = now + probe_every_;
    } else if (held_back_ && contended_) {
        // Or others were slower than that.
        step_ = std::min(step_ * 2, step_max);
        contended_ = ++in_vain_ < in_vain_max;
        probe_at_ = now + probe_every_;
    } else if (held_back_) {
        step_ = step_first;
        probe_every_ = std::min(probe_every_ * 2, poll_.count() > 0 ? probe_max_polled : probe_max);
        probe_at_ = now + probe_every_;
    }
    held_back_ = false;
    if (!contended_) in_vain_ = 0;
}

}  // namespace pawl::leasing
