#include "engines/etcd/store/lease_pool.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>

namespace pawl::etcd {
namespace {

// One second more than asked for, so that an empty lease can be used again within that second
// without a word to etcd. Short ones are exact: there it would show.
constexpr std::int64_t slack_from = 5;
constexpr std::size_t empty_max = 256;

}  // namespace

std::int64_t seconds_for(millis ttl) noexcept {
    return std::max<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(ttl).count(), 1);
}

async<etcd_lease> lease_pool::grant(std::int64_t seconds, request_limits limits) {
    wire::LeaseGrantRequest request;
    request.set_ttl(seconds);
    const auto sent = lease_clock::now();
    const auto got = co_await through_->ask<wire::LeaseGrantResponse>(method::lease_grant, request,
                                                                      effect::none, limits);
    if (got.has_error()) co_return got.error();
    co_return etcd_lease{got->id(), std::max(got->ttl(), seconds), sent};
}

async<etcd_lease> lease_pool::take(millis ttl, instant since, request_limits limits) {
    const auto self = shared_from_this();
    const auto exact = seconds_for(ttl);
    const auto seconds = exact < slack_from ? exact : exact + 1;
    // All may be forgotten while an answer is waited for.
    while (auto found = next_empty(seconds)) {
        if (found->surely_until() >= since + ttl) co_return *found;
        if (found->surely_until() <= lease_clock::now()) continue;
        const auto sent = lease_clock::now();
        const auto left = co_await stream_->keep_alive(found->id, limits.deadline);
        if (left.has_error()) co_return failure{errc::unreachable, left.error().detail};
        if (*left == 0) continue;
        found->refreshed = sent;
        co_return *found;
    }
    const auto granted = co_await grant(seconds, limits);
    if (granted.has_value()) asked_[granted->seconds] = seconds;
    co_return granted;
}

std::optional<etcd_lease> lease_pool::next_empty(std::int64_t seconds) {
    auto& empty = empty_[seconds];
    if (empty.empty()) return std::nullopt;
    const auto found = empty.back();
    empty.pop_back();
    return found;
}

void lease_pool::give_back(const etcd_lease& lease) {
    const auto asked = asked_.find(lease.seconds);
    if (lease.id == 0 || asked == asked_.end()) return;
    auto& empty = empty_[asked->second];
    if (empty.size() < empty_max && lease.surely_until() > lease_clock::now())
        empty.push_back(lease);
}

void lease_pool::revoke(std::int64_t lease) {
    boost::asio::co_spawn(through_->executor(), revoke_soon(through_, lease),
                          boost::asio::detached);
}

boost::asio::awaitable<void> lease_pool::revoke_soon(std::shared_ptr<client> through,
                                                     std::int64_t lease) {
    wire::LeaseRevokeRequest request;
    request.set_id(lease);
    const auto deadline = through->deadline();
    co_await through->ask<wire::LeaseRevokeResponse>(method::lease_revoke, request,
                                                     effect::possible, deadline);
}

}  // namespace pawl::etcd
