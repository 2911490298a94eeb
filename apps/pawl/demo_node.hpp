// One node of the demonstration: a process that competes for every firing of a job.
#pragma once

#include "pawl/status.hpp"

#include <pawl/types.hpp>

#include <cstdint>
#include <string>

namespace pawl::app {

constexpr millis demo_ttl{2000};
constexpr const char* demo_key = "demo/invoices";

struct demo_node_options {
    std::string name;
    std::string store;
    std::string ledger;
    std::int64_t first = 0;  // firings, in Unix seconds
    std::int64_t last = 0;
};

// Tells on stdout what happens, a line each: `began FIRING TOKEN`, `wrote FIRING TOKEN`,
// `refused FIRING TOKEN NEWEST`, `ended FIRING TOKEN`, `fault TEXT`.
status run_demo_node(const demo_node_options& what);

}  // namespace pawl::app
