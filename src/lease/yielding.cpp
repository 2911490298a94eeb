#include "lease/yielding.hpp"

#include <algorithm>

namespace pawl::leasing {

nanos yielding::before_claim(instant now, nanos round_trip) {
    const auto mine_at = free_since_ + step_ + 3 * round_trip;
    held_back_ = had_it_ && now < mine_at && (contended_ || now >= probe_at_);
    return held_back_ ? mine_at - now : nanos{0};
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

void yielding::refused(std::size_t owner, fence_token holder) {
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
        probe_every_ = std::min(probe_every_ * 2, probe_max);
        probe_at_ = now + probe_every_;
    }
    held_back_ = false;
    if (!contended_) in_vain_ = 0;
}

}  // namespace pawl::leasing
