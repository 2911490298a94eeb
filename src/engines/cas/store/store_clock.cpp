#include "engines/cas/store/store_clock.hpp"

#include <algorithm>

namespace pawl::cas {
namespace {

// An answer that came before `now` came in no negative time.
instant::duration since(instant then, instant now) {
    return std::max(now - then, instant::duration::zero());
}

}  // namespace

void store_clock::hear(const std::optional<stamp>& heard) {
    if (!heard || (newest_ && heard->answered < newest_->answered)) return;
    newest_ = heard;
    // A stamp cannot have come before it was asked for.
    newest_->asked = std::min(newest_->asked, newest_->answered);
}

std::optional<clock_bounds> store_clock::at(instant now) const {
    if (!newest_) return std::nullopt;
    const auto least = since(newest_->answered, now);
    const auto most = since(newest_->asked, now);
    clock_bounds bounds;
    bounds.low = newest_->at + std::chrono::floor<micros>(least - least / drift_part);
    bounds.high = newest_->at + step_ + skew_ + std::chrono::ceil<micros>(most + most / drift_part);
    return bounds;
}

instant::duration store_clock::age(instant now) const {
    return newest_ ? since(newest_->answered, now) : instant::duration::max();
}

}  // namespace pawl::cas
