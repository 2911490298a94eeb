#include "schedule/queue/positions.hpp"

#include "schedule/queue/turns.hpp"

namespace pawl::schedule {

bool positions::is_before_all(const std::string& job, occurrence which) const {
    const auto since = since_.find(job);
    return since != since_.end() && number(which) < since->second;
}

void positions::on_store_read(knowledge how_much, wall_instant now) {
    are_known_ = how_much == knowledge::all;
    caught_up_until_ = now;
}

std::optional<occurrence> positions::last_of_slots(const std::string& job,
                                                   const occurrence_rule& rule,
                                                   const queue_rules& queue,
                                                   std::vector<std::optional<occurrence>> slots,
                                                   wall_instant now) const {
    // A slot that has run nothing compares as the least.
    const auto latest = *std::max_element(slots.begin(), slots.end());
    if (!latest || !takes_in_order(queue)) return latest;
    // What came due before the job was there will not run, nor what is too late.
    auto floor = occurrence_of(now - rule.lateness_max);
    const auto since = since_.find(job);
    if (since != since_.end()) floor = std::max(floor, occurrence{since->second});
    for (auto& one : slots)
        if (one || since != since_.end()) one = std::max(one.value_or(floor), floor);
    auto known = latest;
    for (const auto& one : slots)
        if (one) known = std::min(known, one);
    // At the latest the next turn of the slot that is behind ends this.
    while (const auto next = rule.when.next(wall_of(*known), rule.where, rule.policy)) {
        if (occurrence_of(*next) > *latest) break;
        const auto slot = slot_of(rule, *next, static_cast<std::uint32_t>(slots.size()));
        if (!slots[slot] || *slots[slot] < occurrence_of(*next)) return known;
        known = occurrence_of(*next);
    }
    return latest;
}

std::optional<wall_instant> positions::begin_after(const scheduled_job& which,
                                                   const state_of_node& node,
                                                   wall_instant now) const {
    // To begin now would be to give up what is due; only those that may run without a lease do.
    const bool must_not_wait = which.on_store_down == outage::run_without_lease;
    if (node.is_ready && node.knows_pauses && must_not_wait) return std::nullopt;
    if (node.store == knowledge::in_part && (node.is_ready || !must_not_wait)) return std::nullopt;
    // It is not remembered what has run, so nothing that is past is missing.
    if (which.delivery == delivery::off)
        return which.has_a_place ? std::nullopt : std::optional{now};
    const auto since = since_.find(which.name);
    const bool knows_since = since != since_.end();
    const auto began = knows_since ? wall_of(occurrence{since->second}) : now;
    // What ran longer ago than the store remembers is not missing for that.
    if (!which.last) return std::max(began, now - node.retention);
    const auto last = wall_of(*which.last);
    if (!knows_since) return last;
    // A partition that has run nothing yet is behind the others: what they ran last comes due
    // again.
    return std::max(began, which.has_unrun_partition ? last - millis{1} : last);
}

}  // namespace pawl::schedule
