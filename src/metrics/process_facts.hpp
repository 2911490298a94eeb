// What the kernel says of this process, under the names that every exporter uses.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace pawl::metrics {

// What cannot be read is left out. Source: proc(5).
std::vector<prometheus::MetricFamily> process_facts();

}  // namespace pawl::metrics
