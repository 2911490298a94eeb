#include "metrics/quantiles.hpp"

#include "base/ensure.hpp"

#include <numeric>

namespace pawl::metrics {

const std::vector<double>& lease_bounds() {
    static const std::vector<double> bounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                            0.25,  0.5,    1,     2.5,  5,     10,   30,
                                            60,    120,    300,   600,  1800,  3600};
    return bounds;
}

const std::vector<double>& run_bounds() {
    static const std::vector<double> bounds{0.001, 0.005, 0.01, 0.025, 0.05, 0.1,
                                            0.25,  0.5,   1,    2.5,   5,    10,
                                            30,    60,    300,  900,   3600, 14400};
    return bounds;
}

const std::vector<double>& store_bounds() {
    static const std::vector<double> bounds{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025,
                                            0.005,   0.01,   0.025,   0.05,   0.1,   0.25,
                                            0.5,     1,      2.5,     5,      10};
    return bounds;
}

std::uint64_t bucket_counts::sum() const noexcept {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

void bucket_counts::add(const bucket_counts& other) {
    if (bounds.empty()) {
        *this = other;
        return;
    }
    base::ensure(bounds == other.bounds);
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
}

bucket_counts bucket_counts::since(const bucket_counts& before) const {
    if (before.bounds.empty()) return *this;
    base::ensure(bounds == before.bounds);
    auto difference = *this;
    for (std::size_t i = 0; i < counts.size(); ++i) difference.counts[i] -= before.counts[i];
    return difference;
}

double quantile(const bucket_counts& of, double fraction) {
    const auto all = of.sum();
    if (all == 0 || of.bounds.empty()) return 0;
    const double rank = fraction * static_cast<double>(all);
    double below = 0;
    for (std::size_t i = 0; i < of.bounds.size(); ++i) {
        const auto here = static_cast<double>(of.counts[i]);
        if (here > 0 && below + here >= rank) {
            const double lower = i == 0 ? 0 : of.bounds[i - 1];
            return lower + (of.bounds[i] - lower) * (rank - below) / here;
        }
        below += here;
    }
    return of.bounds.back();
}

}  // namespace pawl::metrics
