// How many jobs can be paused at a time.
//
// A node reads so many pauses at a look as control_entries_max says, and a job whose pause it does
// not read runs on. So a pause looks first, and the last ones are refused in one line; the
// rest of the room is for those made at the same moment.
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

}  // namespace pawl::journals
