// A store around another one, that times every verb.
#pragma once

#include "metrics/metrics_registry.hpp"

#include <pawl/spi/lease_store.hpp>

#include <memory>

namespace pawl::metrics {

std::shared_ptr<lease_store> make_measured_store(std::shared_ptr<lease_store> inner,
                                                 std::shared_ptr<metrics_registry> counted);

}  // namespace pawl::metrics
