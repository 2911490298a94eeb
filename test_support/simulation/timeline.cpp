#include "test_support/simulation/timeline.hpp"

#include <algorithm>

namespace pawl::simulation {

void timeline::at(nanos when, std::function<void()> what) {
    heap_.push_back({std::max(when, now_), planned_++, std::move(what)});
    std::push_heap(heap_.begin(), heap_.end(), later);
}

void timeline::run_until(nanos end) {
    while (!heap_.empty() && heap_.front().when <= end) {
        std::pop_heap(heap_.begin(), heap_.end(), later);
        const auto next = std::move(heap_.back());
        heap_.pop_back();
        now_ = next.when;
        ++happened_;
        next.what();
    }
    now_ = end;
}

}  // namespace pawl::simulation
