// What needs attention: found in what was read, worst first, each with what to do next.
//
// A machine without I/O. Times in texts are absolute, so that a text changes when something does.
#pragma once

#include "api/jobs/job_health.hpp"

#include <pawl/spi/journal.hpp>
#include <pawl/spi/lease_store.hpp>

#include <boost/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pawl::api {

// Of each kind; what is beyond is told as a number.
constexpr std::size_t attention_of_a_kind_max = 10;
// As the doctor has it: see health::debt_bounds.
constexpr millis held_long{3'600'000};
constexpr std::uint32_t many_waiters = 10;
// What lies further back is history.
constexpr millis attention_back{3'600'000};
// So many failures one after another are no accident.
constexpr std::size_t failures_that_fail = 3;
// A run that was left is taken up within that, where a node can.
constexpr millis orphan_timeout{60'000};

struct attention {
    enum class severity { warn, fail };

    severity level = severity::warn;
    std::string kind;
    std::string subject;
    std::string text;
    std::string link;
    std::string runbook;
    struct step {
        std::string label, link;
    };
    std::vector<step> steps{};  // where to go on from here, beside `link`
};

struct judged_job {
    const job_entry* entry = nullptr;
    const job_pause* pause = nullptr;
    job_health how{};
};

struct attention_facts {
    std::int64_t now = 0;           // Unix milliseconds
    std::string store{};            // without its secret
    std::string store_trouble{};    // one line; empty while it answers
    std::string journal_trouble{};  // the same
    bool has_journal = true;
    std::string node{};        // that serves the web UI
    bool knows_pauses = true;  // it has read the control state since it started
    std::vector<node_entry> nodes{};
    std::vector<judged_job> jobs{};
    std::vector<record> locks{};  // those that are held for long, or waited for by many
    std::vector<std::uint64_t> busy_tokens{};  // of runs that are known to go on
    std::vector<run_record> recent{};          // the newest runs of all jobs, the newest first
    std::vector<run_record> lost{};            // of all jobs, the newest first
    std::vector<run_record> stale{};
    std::vector<run_record> orphans{};
    std::vector<audit_entry> audit{};  // the newest first
    std::uint64_t leases_lost = 0;     // on this node, within attention_back
    std::uint64_t stale_writes = 0;
};

std::vector<attention> attention_of(const attention_facts& seen);
boost::json::object json_of(const attention& one);

}  // namespace pawl::api
