// The job of the demonstration: it writes to a ledger that rejects stale tokens.
#pragma once

#include "cli/output/status.hpp"

#include <pawl/types.hpp>

#include <string>

namespace pawl::cli {

constexpr millis demo_ttl{2000};
constexpr const char* demo_job = "invoices";

struct demo_work_options {
    std::string ledger;
    std::string events;  // a pipe with a name
};

// A command like any other: what it knows of its run stands in its environment. Tells through the
// pipe what happens, a line each: WHAT SCHEDULED TOKEN NEWEST NODE PID GUARD, where WHAT is began,
// wrote, rejected or ended.
status run_demo_work(const demo_work_options& what);

}  // namespace pawl::cli
