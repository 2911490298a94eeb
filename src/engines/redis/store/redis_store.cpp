#include "engines/redis/store/redis_store.hpp"

#include "base/ensure.hpp"
#include "base/text.hpp"
#include "engines/redis/store/examination.hpp"
#include "engines/redis/store/scripts.hpp"

#include <utility>

namespace pawl::redis {

namespace {

// A release in place leaves a record its retention from the grant on, up to a TTL more than from
// the release on. Where that would show, the release pays for setting it anew.
constexpr millis retention_short = std::chrono::hours{24};

}  // namespace

std::vector<names> names_for(const redis_settings& settings) {
    const auto& space = settings.common.name_space;
    std::vector<names> all;
    if (settings.shape != topology::cluster)
        all.emplace_back(space);
    else
        for (std::size_t shard = 0; shard < cluster_shards; ++shard)
            all.emplace_back(space + "{" + shard_tag(shard) + "}");
    return all;
}

async<bool> redis_store::run_for_flag(const script_call& call, std::size_t shard) {
    const auto got = co_await servers_->run(call, shard);
    if (got.has_error()) co_return got.error();
    if (!got->is_integer()) co_return unexpected("a script");
    co_return got->number == 1;
}

// ---- Ends of leases

async<bool> redis_store::release(std::string key, fence_token token, release_options how) {
    const auto self = shared_from_this();
    const auto at = spot_of(key);
    script_call call{scripts::all().release, 1};
    call.add(at.in.lock, key).add(holder_digits(token));
    if (how.min_hold.count() > 0 || how.done || settings_->common.retention < retention_short) {
        if (how.min_hold == release_options::until_expiry)
            call.add("until_expiry");
        else
            call.add(how.min_hold.count());
        if (how.done)
            call.add(number(*how.done));
        else
            call.add("");
        call.add(retention_);
    }
    co_return co_await run_for_flag(call, at.shard);
}

async<bool> redis_store::force_release(std::string key, fence_token token, millis delay) {
    const auto self = shared_from_this();
    const auto at = spot_of(key);
    script_call call{scripts::all().force_release, 1};
    call.add(at.in.lock, key).add(digits_of(token)).add(retention_);
    call.add(at.in.channel, key).add(delay.count());
    co_return co_await run_for_flag(call, at.shard);
}

// ---- Fences

script_call redis_store::fence_call(const std::string& resource, fence_token token,
                                    fence_rule rule) const {
    const auto at = spot_of(resource);
    const bool marked = settings_->common.quarantine.has_value();
    script_call call{scripts::all().fence, marked ? 3u : 1u};
    call.add(at.in.fence, resource);
    if (marked) call.add(at.in.marker).add(at.in.history);
    call.add(digits_of(token)).add(rule == fence_rule::reject_older ? "older" : "not_newer");
    call.add(settings_->common.max_skew.count());
    if (marked) call.add(met_[at.shard] ? "seen" : "new").name_life();
    call.confirm_by(settings_->replicas);
    return call;
}

async<fence_result> redis_store::fence(std::string resource, fence_token token, fence_rule rule) {
    const auto self = shared_from_this();
    const auto shard = spot_of(resource).shard;
    const auto call = fence_call(resource, token, rule);
    const auto got = co_await servers_->run(call, shard);
    if (got.has_error()) co_return got.error();
    if (settings_->common.quarantine) met_[shard] = true;
    const bool confirmed = settings_->replicas > 0;
    if (confirmed && got->elements.size() != 2) co_return unexpected("fence");
    const auto& said = confirmed ? got->elements[0] : *got;
    if (said.elements.size() != 2 || !said.elements[1].is_integer()) co_return unexpected("fence");
    const auto kind = said.elements[0].number;
    const fence_result answer{kind == 1, token_of(said.elements[1]), kind == 2};
    if (confirmed && answer.accepted && got->elements[1].number < settings_->replicas)
        co_return unconfirmed(servers_->place(), got->elements[1].number, *settings_);
    co_return answer;
}

async<examination> redis_store::examine() { return examine_servers(servers_, settings_); }

std::shared_ptr<lease_store> make_redis_store(net::loop& where, redis_settings settings) {
    base::ensure(!base::name_space_fault(settings.common.name_space));
    return std::make_shared<redis_store>(where, std::move(settings));
}

}  // namespace pawl::redis
