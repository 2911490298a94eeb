#include "engines/etcd/store/make_etcd_store.hpp"

#include "base/ensure.hpp"
#include "base/text.hpp"
#include "engines/etcd/store/etcd_store.hpp"
#include "engines/etcd/store/examination.hpp"

#include <algorithm>
#include <utility>

namespace pawl::etcd {

// ---- What the verbs share

async<wire::TxnResponse> etcd_store::run(const transaction& what, effect may,
                                         request_limits limits) {
    auto got = co_await client_->ask<wire::TxnResponse>(method::txn, what.request(), may, limits);
    if (got.has_value()) {
        newest_revision_ = std::max(newest_revision_, got->header().revision());
    } else if (is_lease_missing(got.error())) {
        // The cluster has forgotten a lease that we counted on; what else it forgot is to be seen.
        leases_->forget();
        epochs_->forget();
        withdrawn_until_ = {};
    }
    co_return got;
}

async<snapshot> etcd_store::look(const std::string& key, instant deadline) {
    transaction all;
    all.get(names_.marker).get(names_.lock + key).get(names_.pause + key);
    all.get(names_.record + key).get(names_.done + key);
    const auto got = co_await run(all, effect::none, deadline);
    if (got.has_error()) co_return got.error();
    if (got->responses_size() != 5) co_return unreadable(key);
    snapshot seen;
    seen.revision = got->header().revision();
    seen.marker = marker_of(got->responses(0));
    seen.lock = first_of(got->responses(1));
    seen.pause = first_of(got->responses(2));
    seen.record = first_of(got->responses(3));
    seen.done = first_of(got->responses(4));
    co_return seen;
}

async<wire::LeaseTimeToLiveResponse> etcd_store::time_to_live(std::int64_t lease,
                                                              instant deadline) {
    wire::LeaseTimeToLiveRequest request;
    request.set_id(lease);
    auto asking = client_->ask<wire::LeaseTimeToLiveResponse>(method::lease_time_to_live, request,
                                                              effect::none, deadline);
    co_return co_await std::move(asking);
}

// What is left of an etcd lease, in the whole seconds that etcd tells.
async<millis> etcd_store::remaining(std::int64_t lease, instant deadline) {
    const auto got = co_await time_to_live(lease, deadline);
    if (got.has_error()) co_return got.error();
    if (got->ttl() <= 0) co_return expiry_lag;
    co_return std::chrono::seconds{got->ttl()};
}

const granted_lease* etcd_store::own(const std::string& key, fence_token token) const {
    const auto found = own_.find(key);
    return found != own_.end() && found->second.token == token ? &found->second : nullptr;
}

// Those that ran out unnoticed are swept out now and then.
void etcd_store::remember(const std::string& key, granted_lease what) {
    if (++remembered_ % sweep_every == 0) {
        const auto now = lease_clock::now();
        std::erase_if(own_, [&](const auto& each) {
            const auto& lease = each.second.lease;
            return lease.surely_until() + std::chrono::seconds{lease.seconds} < now;
        });
    }
    own_.insert_or_assign(key, std::move(what));
}

// ---- The guard

// Tokens of a layout before this one may be ahead of the clock.
async<rules::token_range> etcd_store::issued_tokens(const epoch& in, instant deadline) {
    const auto clock = co_await client_->clock(deadline);
    if (clock.has_error()) co_return clock.error();
    const micros floor{static_cast<std::int64_t>(number(*in.marker.floor))};
    const auto now = std::max(clock->latest(lease_clock::now()), floor);
    const auto& common = settings_->common;
    co_return rules::issued_tokens(common.quarantine, micros{in.marker.born}, now, common.max_skew);
}

async<fence_result> etcd_store::do_fence(std::string resource, fence_token token, fence_rule rule) {
    const auto self = shared_from_this();
    const auto deadline = client_->deadline();
    const auto name = names_.fence + resource;
    const auto value = encode_fence(token);
    bool known = true;
    for (int round = 0; round < rounds_max; ++round) {
        const auto in = co_await epochs_->current(deadline);
        if (in.has_error()) co_return in.error();
        const auto issued = co_await issued_tokens(*in, deadline);
        if (issued.has_error()) co_return issued.error();
        transaction raise;
        if (token < issued->oldest || token > issued->newest)
            raise.if_created_at(names_.marker, -1);  // only looks
        else if (known)
            raise.if_below(name, value);
        else
            raise.if_created_at(name, 0);
        // The birth that the token was judged by is still that of the data.
        raise.if_changed_at(names_.marker, in->marker_revision);
        raise.put(name, value).otherwise_get(name).otherwise_get(names_.marker);
        const auto got = co_await run(raise, effect::possible, deadline);
        if (got.has_error()) co_return got.error();
        if (got->succeeded()) co_return fence_result{true, token};
        if (got->responses_size() != 2) co_return unreadable(name);
        const auto marker = first_of(got->responses(1));
        if (!marker || marker->mod_revision() != in->marker_revision) {
            epochs_->forget();
            continue;
        }
        const auto found = first_of(got->responses(0));
        auto newest = found ? parse_fence(found->value()).value_or(fence_token{}) : fence_token{};
        if (found && number(newest) == 0) co_return unreadable(name);
        const auto before = newest;
        const auto judged = rules::check_fence(newest, token, rule, *issued);
        if (newest == before) co_return judged;
        known = found.has_value();
    }
    co_return contended();
}

async<examination> etcd_store::do_examine() {
    const auto self = shared_from_this();
    co_return co_await examine_cluster(client_, names_);
}

std::shared_ptr<lease_store> make_etcd_store(net::loop& where, etcd_settings settings) {
    base::ensure(!base::name_space_fault(settings.common.name_space));
    return std::make_shared<etcd_store>(where,
                                        std::make_shared<const etcd_settings>(std::move(settings)));
}

}  // namespace pawl::etcd
