// What becomes of a run that is started and has fallen silent, by what the store says of its key.
//
// For reconcilers, and for those who read where no reconciler may run.
#pragma once

#include <pawl/spi/journal.hpp>
#include <pawl/spi/lease_store.hpp>

#include <optional>

namespace pawl::runs {

enum class silence {
    alive,     // it holds its key: frozen, or cut off from its journal
    in_doubt,  // the store knows it, or a later one, as done: its runner may still be about to tell
               // the journal, for recording_timeout at most
    over
};

struct silence_result {
    silence what = silence::alive;
    run_end how{};  // unless it is alive; for one in doubt, when none has reported better
};

silence_result judge_silence(const run_record& run, const std::optional<record>& lease);

}  // namespace pawl::runs
