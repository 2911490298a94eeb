#include "schedule/job/retry.hpp"

#include <algorithm>
#include <cmath>

namespace pawl::schedule {

std::optional<millis> wait_before_retry(const retry_rule& rule, int attempt,
                                        double uniform) noexcept {
    if (attempt < 1 || attempt > rule.max) return std::nullopt;
    const auto longest = static_cast<double>(std::max<millis::rep>(rule.max_backoff.count(), 0));
    const auto first = static_cast<double>(std::max<millis::rep>(rule.backoff.count(), 0));
    // Infinite where it overflows, and then the longest; 0 * infinity is not a number.
    const auto grown = first > 0 ? first * std::pow(std::max(rule.factor, 1.0), attempt - 1) : 0.0;
    const auto middle = std::min(grown, longest);
    const auto jitter = std::clamp(rule.jitter, 0.0, 1.0);
    // Waits at the bound are spread below it: all of them cut off there would end together.
    const auto least = middle * (1 - jitter);
    const auto most = std::min(middle * (1 + jitter), longest);
    const auto wait = least + (most - least) * std::clamp(uniform, 0.0, 1.0);
    return millis{static_cast<millis::rep>(wait)};
}

}  // namespace pawl::schedule
