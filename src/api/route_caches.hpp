// Caches that the routes share between requests.
#pragma once

#include "api/jobs/control_look.hpp"
#include "api/jobs/job_health.hpp"
#include "api/limits/audit_meter.hpp"
#include "api/limits/change_limit.hpp"
#include "api/limits/fair_semaphore.hpp"
#include "api/limits/single_flight.hpp"
#include "api/monitoring/overview.hpp"
#include "documents/job_terms.hpp"

#include <pawl/spi/journal.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace pawl::api {

// Beyond so many jobs everything is forgotten, and read again.
constexpr std::size_t terms_remembered_max = 20'000;

// What was found when a caller asked about a job of which the newest rows of all jobs tell too
// little.
struct asked_job {
    instant at{};
    job_health how{};
    bool for_late = false;       // it looked late then, and has done so since
    std::int64_t failed_at = 0;  // the newest failure that was known then; 0: none
};

// Runs of all jobs that did not end well.
struct bad_ends {
    std::vector<run_record> lost{};
    std::unordered_map<std::string, std::int64_t> failed_at{};  // by job, the newest
};

// On the loop of its context only.
struct route_caches {
    struct known_terms {
        std::string schedule, zone, definition;
        std::uint32_t partitions = 1;
        std::shared_ptr<const documents::job_terms> terms;
    };
    std::unordered_map<std::string, known_terms> terms;  // by job
    std::unordered_map<std::string, asked_job> asked_about;
    // Of a journal that has no index by status: what it told, and when it is asked again.
    bad_ends ends_by_status;
    instant ask_by_status_at{};
    std::shared_ptr<single_flight<overview_document>> overview;
    millis overview_age_max{0};
    std::shared_ptr<single_flight<result<control_look>>> control;
    // A request for runs with arguments looks how many are queued, and no other adds some until it
    // has.
    const std::shared_ptr<fair_semaphore> queuing =
        std::make_shared<fair_semaphore>(fair_semaphore::rules{.at_once = 1, .at_once_of_user = 1});
    audit_meter often;
    change_limit changes;
    bool tells_left_out = false;  // a wait for the end of its windows is under way
};

// Read anew only when the entry says something else than before.
std::shared_ptr<const documents::job_terms> terms_of(const context& around, const job_entry& entry);

}  // namespace pawl::api
