// Since when what comes due of a published job is to run.
#pragma once

#include "base/definition_text.hpp"

#include <pawl/spi/journal.hpp>

namespace pawl::journals {

// What came due while it was another schedule, or was off, is not missing; nor does what ran in a
// slot say what a partition has done.
inline bool has_gone_on(const job_entry& known, const job_entry& now) {
    return known.schedule == now.schedule && known.zone == now.zone &&
           known.partitions == now.partitions &&
           base::has_slots(known.definition) == base::has_slots(now.definition) &&
           (base::is_enabled(known.definition) || !base::is_enabled(now.definition));
}

}  // namespace pawl::journals
