#include "schedule/job/job_table.hpp"

namespace pawl::schedule {

std::shared_ptr<known_job> job_table::find(const std::string& name) const {
    const auto found = jobs_.find(name);
    return found == jobs_.end() ? nullptr : found->second;
}

std::shared_ptr<known_job> job_table::of(entry_id entry) const {
    const auto found = entries_.find(entry);
    return found == entries_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<known_job> job_table::find_or_add(const std::string& name) {
    auto& place = jobs_[name];
    if (!place) {
        place = std::make_shared<known_job>();
        place->entry = next_entry_++;
        entries_[place->entry] = place;
        const auto removed = running_.find(name);
        const auto going_on = removed == running_.end() ? nullptr : removed->second.lock();
        if (going_on) place->running = going_on;
    }
    return place;
}

void job_table::remove(const std::string& name) {
    const auto found = jobs_.find(name);
    if (found == jobs_.end()) return;
    times_.remove(found->second->entry);
    entries_.erase(found->second->entry);
    std::erase_if(running_, [](const auto& one) { return one.second.expired(); });
    running_[name] = found->second->running;
    jobs_.erase(found);
}

std::vector<std::string> job_table::names_beside(
    const std::unordered_set<std::string>& kept) const {
    std::vector<std::string> names;
    for (const auto& [name, which] : jobs_)
        if (!kept.contains(name)) names.push_back(name);
    return names;
}

bool job_table::schedule_from(wall_instant since, wall_instant now, known_job& which) {
    if (!which.plan->when || !which.plan->enabled) {
        times_.remove(which.entry);
        return false;
    }
    times_.add(which.entry, *which.plan->when, since, now);
    return true;
}

}  // namespace pawl::schedule
