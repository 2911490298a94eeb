// Observers of leases and runs that count what they hear of.
#pragma once

#include "metrics/metrics_registry.hpp"
#include "schedule/dispatcher.hpp"

#include <pawl/observer.hpp>

#include <memory>

namespace pawl::metrics {

std::shared_ptr<observer> make_lock_watcher(std::shared_ptr<metrics_registry> counted);
std::shared_ptr<schedule::dispatch_observer> make_run_watcher(
    std::shared_ptr<metrics_registry> counted);

}  // namespace pawl::metrics
