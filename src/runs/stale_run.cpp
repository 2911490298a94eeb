#include "runs/stale_run.hpp"

namespace pawl::runs {

stale_run_result resolve_stale_run(const run_record& run, const std::optional<record>& lease) {
    stale_run_result told;
    const bool held = lease && lease->remaining.count() > 0 && lease->holder == run.token &&
                      number(run.token) != 0;
    if (held) return told;
    bool again = run.delivery == delivery::at_least_once && run.occurrence.has_value();
    told.what = stale_state::over;
    told.how.reason = "its node " + run.node + " became unresponsive";
    const auto done = lease ? lease->last_done : std::nullopt;
    if (again && done && number(*done) >= number(*run.occurrence)) {
        // Of a later one the store cannot say whether this one had ended.
        told.what = stale_state::in_doubt;
        if (done == run.occurrence) {
            again = false;
            told.how.reason = "it ended, and its node " + run.node + " could not record how";
        }
    }
    // The journal does so by itself, of one that is cancelled meanwhile.
    const auto left = run.cancel_requested ? run_status::cancelled : run_status::abandoned;
    told.how.status = again ? left : run_status::lost;
    return told;
}

}  // namespace pawl::runs
