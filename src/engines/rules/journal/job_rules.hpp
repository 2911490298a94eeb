// Since when what comes due of a published job is to run.
#pragma once

#include <pawl/spi/journal.hpp>

#include <string_view>

namespace pawl::journals {

// How a definition says that the job is off. No text in it can read so: there its quotes are
// escaped.
constexpr std::string_view not_enabled_text = R"("enabled":false)";

inline bool is_enabled(const job_entry& job) {
    return job.definition.find(not_enabled_text) == std::string::npos;
}

// What came due while it was another schedule, or was off, is not missing.
inline bool has_gone_on(const job_entry& known, const job_entry& now) {
    return known.schedule == now.schedule && known.zone == now.zone &&
           known.partitions == now.partitions && (is_enabled(known) || !is_enabled(now));
}

}  // namespace pawl::journals
