// How long to wait before the next attempt of a run.
#pragma once

#include <pawl/types.hpp>

#include <optional>

namespace pawl::schedule {

struct retry_rule {
    int max = 0;  // attempts beyond the first
    millis backoff{10'000};
    double factor = 2.0;
    millis max_backoff{600'000};
    double jitter = 0.2;  // of the wait, to both sides
};

// Before attempt `attempt` + 1, after `attempt` (from 1) has failed; nothing when none is left.
// `uniform` is in [0, 1).
std::optional<millis> wait_before_retry(const retry_rule& rule, int attempt,
                                        double uniform) noexcept;

}  // namespace pawl::schedule
