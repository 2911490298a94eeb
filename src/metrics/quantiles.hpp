// Counts by bucket, and the quantiles that can be read from them, as histogram_quantile does it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pawl::metrics {

// Seconds. From a millisecond to an hour, and above that only "more".
const std::vector<double>& lease_bounds();
// Coarser, for there is one of them for each job.
const std::vector<double>& run_bounds();
// From 50 microseconds, the time of a store in memory, to the longest timeout that makes sense.
const std::vector<double>& store_bounds();

struct bucket_counts {
    std::vector<double> bounds;         // the upper ones, ascending, without infinity
    std::vector<std::uint64_t> counts;  // of each bucket by itself; one more than bounds

    std::uint64_t sum() const noexcept;
    // REQUIRES: the same bounds, or none yet.
    void add(const bucket_counts& other);
    // What came since. REQUIRES: `before` is an older reading of the same.
    bucket_counts since(const bucket_counts& before) const;
};

// Interpolated within its bucket; the highest bound for what lies above; 0 when nothing was
// counted. REQUIRES: 0 < fraction <= 1.
double quantile(const bucket_counts& of, double fraction);

}  // namespace pawl::metrics
