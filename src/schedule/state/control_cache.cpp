#include "schedule/state/control_cache.hpp"

#include "runs/recorder.hpp"

#include <algorithm>
#include <utility>

namespace pawl::schedule {

void control_cache::on_read(instant now) {
    if (!read_at_ || was_cut_off(now)) judge_from_ = now + runs::run_heartbeat_timeout;
    read_at_ = now;
}

bool control_cache::may_judge(instant now) const noexcept {
    return read_at_ && now >= judge_from_ && !was_cut_off(now);
}

bool control_cache::was_cut_off(instant now) const noexcept {
    return read_at_ && now - *read_at_ > runs::run_heartbeat_timeout / 2;
}

const job_pause* control_cache::pause_of(const std::string& job) const {
    const auto found = pauses_.find(job);
    return found == pauses_.end() ? nullptr : &found->second;
}

control_cache::pause_map control_cache::replace_pauses(std::vector<job_pause> now) {
    pause_map all;
    for (auto& one : now) all.emplace(one.job, std::move(one));
    return std::exchange(pauses_, std::move(all));
}

const run_trigger* control_cache::trigger(const std::string& id) const {
    const auto found = triggers_.find(id);
    return found == triggers_.end() ? nullptr : &found->second.what;
}

void control_cache::on_orphan_done(const std::string& run, done_orphan what) {
    done_orphans_.try_emplace(run, std::move(what));
}

control_cache::done_orphan* control_cache::find_done(const std::string& run) {
    const auto found = done_orphans_.find(run);
    return found == done_orphans_.end() ? nullptr : &found->second;
}

void control_cache::forget_old(instant now, const std::vector<run_record>& orphans) {
    std::erase_if(triggers_,
                  [&](const auto& known) { return now - known.second.seen > trigger_memory; });
    std::erase_if(done_orphans_, [&](const auto& known) {
        return std::ranges::none_of(orphans,
                                    [&](const run_record& one) { return one.id == known.first; });
    });
}

}  // namespace pawl::schedule
