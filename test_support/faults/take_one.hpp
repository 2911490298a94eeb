// Faults that are planned by their number.
#pragma once

#include <atomic>

namespace pawl::testing_faults {

// Takes one of those that are left; false when none is.
inline bool take_one(std::atomic<int>& count) {
    auto left = count.load();
    while (left > 0 && !count.compare_exchange_weak(left, left - 1)) {
    }
    return left > 0;
}

}  // namespace pawl::testing_faults
