#include "engines/zookeeper/store/make_zookeeper_store.hpp"

#include "base/duration.hpp"
#include "base/ensure.hpp"
#include "base/text.hpp"
#include "engines/zookeeper/store/zookeeper_store.hpp"

#include <algorithm>

namespace pawl::zookeeper {

zookeeper_store::zookeeper_store(net::loop& where, zookeeper_settings settings)
    : loop_{where},
      settings_{std::make_shared<const zookeeper_settings>(std::move(settings))},
      tree_{std::make_unique<ensemble>(where, settings_)},
      expiries_{expiry_schedule::make(where, settings_->common.timeout)} {}

zookeeper_store::~zookeeper_store() { expiries_->close_from_anywhere(); }

failure zookeeper_store::too_slow(std::string_view what) const {
    return {errc::unreachable, tree_->place() + ": others were faster at " + std::string{what} +
                                   " for " + base::format_duration(settings_->common.timeout)};
}

std::string zookeeper_store::fresh_lease_name() { return "lease-" + ids_.next().substr(0, 16); }
std::string zookeeper_store::fresh_origin_name() {
    return std::string{origin_prefix} + ids_.next().substr(0, 16);
}

// Without any reading of the leader's clock, the moment of its last renewal is as good as any.
std::int64_t zookeeper_store::now_for(const view& seen) const {
    if (tree_->has_clock()) return tree_->estimate_clock();
    return std::max(seen.renewed, seen.record.acquired);
}

void zookeeper_store::forget_what_is_over(const std::string& key, view& seen) const {
    if (seen.alive && expiries_->has_expired(tree_->lease_path(key, seen))) seen.alive = false;
}

// The state that the rules decide on. A lease lives as long as its znode, whatever its time says.
rules::lease_record zookeeper_store::state_of(const view& seen, std::int64_t now) const {
    rules::lease_record state;
    if (!seen.exists) return state;
    const auto& from = seen.record;
    if (!from.lease.empty()) state.holder = from.token;
    state.claim_id = from.claim_id;
    state.owner = from.owner;
    state.acquired = state.acquired_wall = millis{from.acquired};
    if (seen.alive)
        state.until = millis{std::clamp(seen.renewed + seen.ttl.count(), now + 1,
                                        now + std::max<std::int64_t>(seen.ttl.count(), 1))};
    else if (from.lease.empty())
        state.until = millis{from.cooldown_until};
    state.last_token = from.last_token;
    state.last_done = from.last_done;
    return state;
}

std::shared_ptr<lease_store> make_zookeeper_store(net::loop& where, zookeeper_settings settings) {
    base::ensure(!base::name_space_fault(settings.common.name_space) && !settings.servers.empty());
    return std::make_shared<zookeeper_store>(where, std::move(settings));
}

}  // namespace pawl::zookeeper
