#include "engines/cas/store/store_clock.hpp"

#include <algorithm>

namespace pawl::cas {
namespace {

// An answer that came before `now` came in no negative time.
instant::duration since(instant then, instant now) {
    return std::max(now - then, instant::duration::zero());
}

}  // namespace

micros store_clock::low_by(const stamp& heard, instant now) const {
    const auto least = since(heard.answered, now);
    return heard.at + std::chrono::floor<micros>(least - least / drift_part);
}

micros store_clock::high_by(const stamp& heard, instant now) const {
    const auto most = since(heard.asked, now);
    return heard.at + step_ + skew_ + std::chrono::ceil<micros>(most + most / drift_part);
}

void store_clock::hear(const std::optional<stamp>& heard) {
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

std::optional<clock_bounds> store_clock::at(instant now) const {
    if (!newest_) return std::nullopt;
    return clock_bounds{low_by(lower_, now), high_by(upper_, now)};
}

instant::duration store_clock::age(instant now) const {
    return newest_ ? since(newest_->answered, now) : instant::duration::max();
}

}  // namespace pawl::cas
