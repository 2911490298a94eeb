// What the store's own clock shows, as two bounds, from the stamps that its answers carry.
//
// The clock of the client never enters: only how long ago a stamp came does, on the lease clock.
// Every decision takes the bound that cannot hurt. A lease is over when even the lower one is past
// its end; it ends, for all who will look, where the upper one stood when it was written.
#pragma once

#include "engines/cas/store/medium.hpp"

#include <pawl/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace pawl::cas {

// The store's clock is not below `low`, nor at or above `high`, on any of its front ends.
struct clock_bounds {
    micros low{0};
    micros high{0};
    bool operator==(const clock_bounds&) const = default;
};

// How much faster or slower than ours a clock of the store may run: one part in so many.
constexpr std::int64_t drift_part = 1000;

// On the loop only.
class store_clock {
public:
    // `skew` is how far the clocks of two answers may differ.
    store_clock(micros step, micros skew) : step_{step}, skew_{skew} {}

    // Every stamp so far holds, as far as rates may differ: a newer one narrows the bounds. One
    // that cannot be true beside them is from a clock that was set anew, and they begin anew with
    // it.
    void hear(const std::optional<stamp>& heard) {
        if (!heard || (newest_ && heard->answered < newest_->answered)) return;
        const bool is_first = !newest_.has_value();
        newest_ = heard;
        // A stamp cannot have come before it was asked for.
        newest_->asked = std::min(newest_->asked, newest_->answered);
        const auto now = newest_->answered;
        const bool jumps = !is_first && low_by(*newest_, now) >= high_by(upper_, now);
        if (jumps) ++jumps_;
        const bool contradicts = is_first || jumps || high_by(*newest_, now) <= low_by(lower_, now);
        if (contradicts || low_by(*newest_, now) >= low_by(lower_, now)) lower_ = *newest_;
        if (contradicts || high_by(*newest_, now) <= high_by(upper_, now)) upper_ = *newest_;
    }

    // Nothing: no answer has carried a stamp so far.
    std::optional<clock_bounds> at(instant now) const {
        if (!newest_) return std::nullopt;
        return clock_bounds{low_by(lower_, now), high_by(upper_, now)};
    }

    // How long ago the newest stamp came; instant::duration::max() without one.
    instant::duration age(instant now) const {
        return newest_ ? since(newest_->answered, now) : instant::duration::max();
    }

    // How often it was further on than can be: it was set forward, or this machine stood still.
    // What was decided before ends too early.
    int jumps() const noexcept { return jumps_; }

private:
    // An answer that came before `now` came in no negative time.
    static instant::duration since(instant then, instant now) {
        return std::max(now - then, instant::duration::zero());
    }
    micros low_by(const stamp& heard, instant now) const {
        const auto least = since(heard.answered, now);
        return heard.at + std::chrono::floor<micros>(least - least / drift_part);
    }
    micros high_by(const stamp& heard, instant now) const {
        const auto most = since(heard.asked, now);
        return heard.at + step_ + skew_ + std::chrono::ceil<micros>(most + most / drift_part);
    }

    // Constant after construction
    micros step_;
    micros skew_;
    // State: those with the highest lower bound and with the lowest upper one are kept beside it.
    std::optional<stamp> newest_;
    stamp lower_;
    stamp upper_;
    int jumps_ = 0;
};

}  // namespace pawl::cas
