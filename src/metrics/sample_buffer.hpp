// The samples of the charts: what has changed from one reading to the next.
#pragma once

#include "metrics/metrics_registry.hpp"

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace pawl::metrics {

class sample_buffer {
public:
    // What was counted before is no part of the first sample.
    void begin(totals now) { last_ = std::move(now); }
    // `at` in Unix milliseconds. Beyond samples_max the oldest goes.
    void take(totals now, std::int64_t at);
    std::vector<sample> samples() const { return {samples_.begin(), samples_.end()}; }

private:
    totals last_;
    std::deque<sample> samples_;
};

}  // namespace pawl::metrics
