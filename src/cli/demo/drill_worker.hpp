// One of the two processes of a drill: it takes the key and writes to a guarded resource, without
// ever looking whether its lease still stands.
#pragma once

#include "cli/output/status.hpp"

#include <pawl/types.hpp>

#include <string>

namespace pawl::cli {

struct drill_worker_options {
    std::string store;
    std::string name;
    std::string key;
    std::string resource;
    millis ttl{0};
    millis wait{0};  // for the key
};

// Tells on stdout what happens, a line each, times in nanoseconds on the lease clock:
// `waiting`, `granted TOKEN AT`, `valid_until TOKEN AT`, `writing TOKEN AT` before a write
// begins, `wrote TOKEN AT` or `rejected TOKEN AT NEWEST` after it, `noticed TOKEN AT`, `released
// TOKEN AT`, `busy`. Ends after a write that was rejected, or with SIGTERM, which makes it release
// first.
status run_drill_worker(const drill_worker_options& what);

}  // namespace pawl::cli
