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

// Whether its keys are slots, which take turns, and not partitions, of which each has its turn
// every time. A definition that does not say has none.
constexpr std::string_view slots_text = R"("slots":)";
constexpr std::string_view no_slots_texts[] = {R"("slots":1,)", R"("slots":1})"};

inline bool has_slots(const job_entry& job) {
    const auto tells = [&](std::string_view text) {
        return job.definition.find(text) != std::string::npos;
    };
    return tells(slots_text) && !tells(no_slots_texts[0]) && !tells(no_slots_texts[1]);
}

// What came due while it was another schedule, or was off, is not missing; nor does what ran in a
// slot say what a partition has done.
inline bool has_gone_on(const job_entry& known, const job_entry& now) {
    return known.schedule == now.schedule && known.zone == now.zone &&
           known.partitions == now.partitions && has_slots(known) == has_slots(now) &&
           (is_enabled(known) || !is_enabled(now));
}

}  // namespace pawl::journals
