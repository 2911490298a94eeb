// What becomes of a run that is started and has no heartbeat any more, by what the store says of
// its key.
//
// For reconcilers, and for those who read where no reconciler may run.
#pragma once

#include <pawl/spi/journal.hpp>
#include <pawl/spi/lease_store.hpp>

#include <optional>

namespace pawl::runs {

enum class stale_state {
    alive,     // it holds its key: frozen, or cut off from its journal
    in_doubt,  // the store knows it, or a later one, as done: its runner may still be about to tell
               // the journal, for recording_timeout at most
    over
};

struct stale_run_result {
    stale_state what = stale_state::alive;
    run_end how{};  // unless it is alive; for one in doubt, when none has reported better
};

stale_run_result resolve_stale_run(const run_record& run, const std::optional<record>& lease);

}  // namespace pawl::runs
