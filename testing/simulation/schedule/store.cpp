#include "testing/simulation/schedule/store.hpp"

#include "testing/simulation/schedule/referee.hpp"

namespace pawl::simulation::schedules {

using std::chrono::floor;

rules::store_time shared_store::now() const {
    const auto elapsed = floor<rules::micros>(time_.now());
    return {elapsed, plan_.start.time_since_epoch() + elapsed};
}

// -- leases

verdict shared_store::acquire(const claim& wanted) {
    auto& state = keys_[wanted.key];
    const auto before = state;
    constexpr millis no_bound = std::chrono::hours{24 * 3650};
    const auto skew = plan_.bug == plant::no_early_guard ? no_bound : max_skew;
    auto answer = rules::acquire(state, wanted, now(), skew);
    if (std::holds_alternative<grant>(answer) && state.holder != before.holder)
        judge_.on_grant(wanted.key, wanted.firing);
    if (state.last_done) judge_.on_remembered(wanted.key, *state.last_done);
    return answer;
}

void shared_store::withdraw(const withdrawal& given_up) {
    if (rules::withdraw(keys_[given_up.key], given_up, now()).was_holder) changed(given_up.key);
}

bool shared_store::renew(const std::string& key, fence_token token, millis ttl) {
    held lease;
    lease.key = key;
    lease.token = token;
    lease.ttl = ttl;
    return rules::renew(keys_[key], lease, now());
}

void shared_store::release(const std::string& key, fence_token token,
                           std::optional<occurrence> done) {
    const farewell how{millis{0}, done};
    auto& state = keys_[key];
    const bool was_holder = rules::release(state, token, how, now()).was_holder;
    if (state.last_done) judge_.on_remembered(key, *state.last_done);
    if (was_holder) changed(key);
}

std::optional<occurrence> shared_store::last_done(const std::string& key) const {
    const auto found = keys_.find(key);
    return found == keys_.end() ? std::nullopt : found->second.last_done;
}

bool shared_store::holds(const std::string& key, fence_token token) const {
    const auto found = keys_.find(key);
    return found != keys_.end() && found->second.held(now()) && found->second.holder == token;
}

void shared_store::listen(const std::string& key, std::function<void()> wake) {
    listeners_.emplace(key, std::move(wake));
}

void shared_store::changed(const std::string& key) {
    judge_.on_free(key);
    std::vector<std::function<void()>> woken;
    const auto [first, last] = listeners_.equal_range(key);
    for (auto each = first; each != last; ++each) woken.push_back(std::move(each->second));
    listeners_.erase(first, last);
    for (const auto& wake : woken) wake();
}

// -- runs (see journal::begin)

beginning shared_store::begin(std::size_t job, std::uint32_t partition, const std::string& key,
                              occurrence firing, fence_token token, delivery mode) {
    const run_key id{key, number(firing)};
    const auto [found, fresh] = rows_.try_emplace(id);
    auto& run = found->second;
    const bool open = run.status == run_status::started || run.status == run_status::abandoned;
    if (!fresh && run.status != run_status::skipped) {
        beginning no;
        no.status = run.status;
        no.outcome = begin_outcome::already_run;
        if (!open || mode == delivery::at_most_once) return no;
        no.outcome = begin_outcome::superseded;
        if (number(run.token) >= number(token)) return no;
    }
    beginning yes;
    yes.outcome = fresh || !open ? begin_outcome::begun : begin_outcome::resumed;
    run = {run_status::started, mode, token, time_.now(), job, partition};
    open_.insert(id);
    return yes;
}

void shared_store::beat(const std::string& key, occurrence firing, fence_token token) {
    const auto found = rows_.find({key, number(firing)});
    if (found != rows_.end() && found->second.token == token) found->second.last_beat = time_.now();
}

void shared_store::finish(const std::string& key, occurrence firing, fence_token token,
                          run_status how) {
    const auto found = rows_.find({key, number(firing)});
    if (found == rows_.end()) return;
    auto& run = found->second;
    if (run.status != run_status::started || run.token != token) return;
    run.status = how;
    if (how != run_status::abandoned) open_.erase(found->first);
}

void shared_store::skip(const std::string& key, occurrence firing, schedule::skip_reason why) {
    judge_.on_skip(key, firing, why);
    const auto [found, fresh] = rows_.try_emplace({key, number(firing)});
    if (fresh) found->second.status = run_status::skipped;
}

const row* shared_store::find(const std::string& key, occurrence firing) const {
    const auto found = rows_.find({key, number(firing)});
    return found == rows_.end() ? nullptr : &found->second;
}

void shared_store::judge_stale(nanos silence_max) {
    for (auto id = open_.begin(); id != open_.end();) {
        auto& run = rows_.at(*id);
        const bool stale = run.status == run_status::started &&
                           time_.now() - run.last_beat > silence_max &&
                           !holds(id->first, run.token);
        if (!stale) {
            ++id;
        } else if (run.mode == delivery::at_least_once) {
            run.status = run_status::abandoned;
            ++id;
        } else {
            run.status = run_status::lost;
            id = open_.erase(id);
        }
    }
}

std::vector<orphan> shared_store::orphans() const {
    std::vector<orphan> found;
    for (const auto& id : open_) {
        const auto& run = rows_.at(id);
        if (run.status == run_status::abandoned)
            found.push_back({run.job, run.partition, occurrence{id.second}});
    }
    return found;
}

}  // namespace pawl::simulation::schedules
