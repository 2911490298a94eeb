// How much users may leave in the control state, of which a node reads control_entries_max of each
// kind at a look.
//
// A job whose pause a node does not read runs on. So a pause looks first, and the last ones are
// refused in one line; the rest of the room is for those made at the same moment. A run that is
// requested waits where it is not read. Of more than a look shows, each job's oldest are read first
// (fair_order), so a request is refused only to a job that has runs waiting already, or wants many.
#pragma once

#include <pawl/spi/journal.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::journals {

constexpr std::size_t pauses_max = control_entries_max - 100;

// Why the job cannot be paused where this is the control state; nothing: it can.
inline std::optional<std::string> pause_fault(const control_state& seen, std::string_view job) {
    const bool is_paused = std::any_of(seen.pauses.begin(), seen.pauses.end(),
                                       [&](const job_pause& one) { return one.job == job; });
    if (is_paused || seen.pauses.size() < pauses_max) return std::nullopt;
    return std::to_string(seen.pauses.size()) + " jobs are paused, and at most " +
           std::to_string(pauses_max) +
           " can be: resume one, or stop the agents where everything has to stand still";
}

// Why no more runs of the job can be requested where this is the control state; nothing: they can.
inline std::optional<std::string> request_fault(const control_state& seen, std::string_view job,
                                                std::size_t runs) {
    if (seen.triggers.size() < control_entries_max) return std::nullopt;
    const auto waiting = std::count_if(seen.triggers.begin(), seen.triggers.end(),
                                       [&](const run_trigger& one) { return one.job == job; });
    if (waiting == 0 && runs == 1) return std::nullopt;
    return std::to_string(seen.triggers.size()) + " runs or more are queued, " +
           std::to_string(waiting) +
           " of them of this job: until there are fewer, a job can have one; cancel what is not "
           "wanted any more, or start agents";
}

}  // namespace pawl::journals
