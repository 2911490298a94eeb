#include "test_support/simulation/simulated_store.hpp"

#include <algorithm>

namespace pawl::simulation {
namespace {

using rules::lease_record;
using rules::micros;
using std::chrono::floor;

constexpr millis no_bound = std::chrono::hours{24};

}  // namespace

rules::store_time simulated_store::now() const {
    const auto elapsed = floor<micros>(time_.now());
    return {elapsed, elapsed + wall_at_start};
}

void simulated_store::restart(nanos outage) {
    down_until_ = std::max(down_until_, time_.now() + outage);
    listeners_.clear();
    judge_.note("store restarts");
}

void simulated_store::lose_data(nanos outage) {
    restart(outage);
    for (const auto& [key, state] : keys_) excused_.emplace(key, state.holder);
    keys_.clear();
    judge_.forget_cooldown();
    born_ = now();
    judge_.happened(fact::data_losses);
    judge_.note("store loses its data");
}

delivery simulated_store::mode_of(const std::string& key) const {
    for (const auto& plan : plan_.keys)
        if (plan.key == key) return plan.options.delivery;
    return delivery::at_most_once;
}

acquire_result<grant> simulated_store::decide(lease_record& state, const claim& wanted,
                                              nanos callers_wall) {
    auto when = now();
    if (plan_.bug == plant::callers_clock)
        when.elapsed = floor<micros>(callers_wall - wall_at_start);
    if (plan_.bug != plant::no_quarantine) {
        auto asked = wanted;
        if (plan_.bug == plant::no_birth_guard) asked.occurrence.reset();
        const auto skew =
            plan_.bug == plant::birth_without_skew ? millis{0} : plan_.settings.max_skew;
        const auto no =
            rules::reject_in_quarantine(plan_.settings.quarantine, born_, asked, when, skew);
        if (no) return *no;
    }
    const auto before = state;
    const auto skew = plan_.bug == plant::no_early_guard ? no_bound : plan_.settings.max_skew;
    auto answer = rules::acquire(state, wanted, when, skew);
    auto* won = std::get_if<grant>(&answer);
    if (!won) return answer;
    const bool repeated = before.held(when) && before.claim_id == wanted.id;
    if (repeated) judge_.happened(fact::repeats);
    if (repeated && plan_.bug == plant::repeat_mints)
        state.holder = state.last_token = fence_token{number(state.last_token) + 1};
    if (!repeated && plan_.bug == plant::plain_counter)
        state.holder = state.last_token = fence_token{number(before.last_token) + 1};
    if (plan_.bug == plant::occurrence_unmarked) state.last_done = before.last_done;
    if (plan_.bug == plant::occurrence_used_up && wanted.occurrence)
        state.last_done = wanted.occurrence;
    won->token = state.holder;
    if (state.holder != before.holder) judge_.on_grant(wanted.key, state.holder);
    return answer;
}

acquire_result<grant> simulated_store::acquire(const claim& wanted, nanos callers_wall) {
    judge_.note("claim ", wanted.id, " ttl ", wanted.ttl.count());
    auto& state = keys_[wanted.key];
    const auto last_done = state.last_done;
    auto answer = decide(state, wanted, callers_wall);
    if (state.last_done && state.last_done != last_done) {
        const auto wall = std::chrono::ceil<millis>(now().wall);
        judge_.on_done(wanted.key, *state.last_done, wanted.delivery,
                       wall + plan_.settings.max_skew);
    }
    if (const auto* no = std::get_if<busy>(&answer)) {
        judge_.happened(fact::busy);
        if (no->reason == busy_reason::cooldown) judge_.happened(fact::cooldown);
        if (no->reason == busy_reason::early) judge_.happened(fact::early);
        if (no->reason == busy_reason::quarantined) judge_.happened(fact::quarantined);
    }
    if (std::holds_alternative<already_done>(answer)) judge_.happened(fact::already_done);
    return answer;
}

bool simulated_store::withdraw(const withdrawal& given_up) {
    judge_.note("withdraw ", given_up.id);
    auto& state = keys_[given_up.key];
    auto asked = given_up;
    if (plan_.bug == plant::withdraw_any) asked.id = state.claim_id;
    const bool was = rules::withdraw(state, asked, now()).was_holder;
    if (was) {
        judge_.happened(fact::given_back);
        changed(given_up.key);
    }
    return was;
}

renewal simulated_store::renew(const held_lease& lease) {
    judge_.note("renew ", number(lease.token), " of ", lease.key);
    auto& state = keys_[lease.key];
    const bool expired = !state.live(now());
    if (rules::renew(state, lease, now())) {
        judge_.happened(expired ? fact::revived : fact::renewed);
        return renewal::renewed;
    }
    if (plan_.bug == plant::renew_revives) {
        state.holder = lease.token;
        state.until = now().elapsed + lease.ttl;
        return renewal::renewed;
    }
    return renewal::lost;
}

bool simulated_store::release(const std::string& key, fence_token token,
                              const release_options& how) {
    auto& state = keys_[key];
    judge_.note("release ", number(token), " of ", key);
    const auto last_done = state.last_done;
    if (plan_.bug == plant::release_any) token = state.holder;
    const auto kept_until =
        how.min_hold == release_options::until_expiry ? state.until : state.acquired + how.min_hold;
    const release_options at_once{millis{0}, how.done};
    const auto effect =
        rules::release(state, token, plan_.bug == plant::min_hold_ignored ? at_once : how, now());
    if (effect.was_holder) judge_.on_linger(key, kept_until);
    if (state.last_done && state.last_done != last_done)
        judge_.on_done(key, *state.last_done, mode_of(key),
                       std::chrono::ceil<millis>(now().wall) + plan_.settings.max_skew);
    if (effect.was_holder) changed(key);
    return effect.was_holder;
}

bool simulated_store::force_release(const std::string& key, fence_token token, millis delay) {
    if (plan_.bug == plant::force_release_at_once) delay = millis{0};
    if (!rules::force_release(keys_[key], token, delay, now())) return false;
    judge_.happened(fact::forced_releases);
    excused_.emplace(key, token);
    judge_.note("operator force-releases ", number(token), " from ", key);
    changed(key);
    return true;
}

// The lock delay is all that is left of the lease: then no answer that is lost can make two
// holders.
void simulated_store::force_release(const std::string& key) {
    force_release(key, keys_[key].holder, ttl_max);
}

std::optional<record> simulated_store::inspect(const std::string& key) const {
    const auto found = keys_.find(key);
    if (found == keys_.end()) return std::nullopt;
    return rules::describe(key, found->second, now());
}

page simulated_store::list(const std::string& prefix, const std::string& after,
                           std::size_t limit) const {
    page found;
    auto place = after < prefix ? keys_.lower_bound(prefix) : keys_.upper_bound(after);
    for (; place != keys_.end() && place->first.starts_with(prefix); ++place) {
        if (found.records.size() == limit) {
            found.next = found.records.back().key;
            break;
        }
        found.records.push_back(rules::describe(place->first, place->second, now()));
    }
    return found;
}

fence_result simulated_store::fence(const std::string& resource, fence_token token,
                                    fence_rule rule) {
    return rules::check_fence(guarded_[resource], token, rule);
}

void simulated_store::listen(const std::string& key, fence_token seen, std::function<void()> wake) {
    const auto found = keys_.find(key);
    const bool held =
        found != keys_.end() && found->second.live(now()) && found->second.holder == seen;
    if (!held) return wake();
    listeners_.emplace(key, listener{seen, std::move(wake)});
}

void simulated_store::changed(const std::string& key) {
    std::vector<std::function<void()>> woken;
    const auto [first, last] = listeners_.equal_range(key);
    for (auto each = first; each != last; ++each) woken.push_back(std::move(each->second.wake));
    listeners_.erase(first, last);
    if (!woken.empty()) judge_.happened(fact::push);
    for (const auto& wake : woken) wake();
}

void simulated_store::write(const std::string& key, fence_token token) {
    auto& newest = guarded_[key];
    const auto found = keys_.find(key);
    const bool live =
        found != keys_.end() && found->second.held(now()) && found->second.holder == token;
    auto accepted = rules::check_fence(newest, token, fence_rule::reject_older).accepted;
    if (plan_.bug == plant::unchecked) accepted = true;
    judge_.on_write(key, token,
                    accepted ? write_answer::accepted
                    : live   ? write_answer::rejected_live_holder
                             : write_answer::rejected);
}

bool simulated_store::backs(const std::string& key, fence_token token) const {
    if (excused_.contains({key, token})) return true;
    const auto found = keys_.find(key);
    return found != keys_.end() && found->second.held(now()) && found->second.holder == token;
}

std::optional<occurrence> simulated_store::last_done(const std::string& key) const {
    const auto found = keys_.find(key);
    return found == keys_.end() ? std::nullopt : found->second.last_done;
}

}  // namespace pawl::simulation
