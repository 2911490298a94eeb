#include "schedule/positions.hpp"

namespace pawl::schedule {

bool positions::is_before_all(const std::string& job, occurrence which) const {
    const auto since = since_.find(job);
    return since != since_.end() && number(which) < since->second;
}

void positions::on_store_read(told how_much, wall_instant now) {
    are_known_ = how_much == told::all;
    caught_up_until_ = now;
}

std::optional<wall_instant> positions::begin_after(const scheduled_job& which,
                                                   const state_of_node& node,
                                                   wall_instant now) const {
    // To begin now would be to give up what is due; only those that may run without a lease do.
    const bool must_not_wait = which.on_store_down == outage::run_without_lease;
    if (node.is_ready && node.knows_pauses && must_not_wait) return std::nullopt;
    if (node.store == told::in_part && (node.is_ready || !must_not_wait)) return std::nullopt;
    // Nobody remembers what has run, so nothing that is past is missing.
    if (which.mode == delivery::off) return which.has_a_place ? std::nullopt : std::optional{now};
    const auto since = since_.find(which.name);
    const bool knows_since = since != since_.end();
    const auto began = knows_since ? wall_of(occurrence{since->second}) : now;
    if (!which.last) return began;
    const auto last = wall_of(*which.last);
    return knows_since ? std::max(began, last) : last;
}

}  // namespace pawl::schedule
