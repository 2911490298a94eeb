#include "engines/redis/store/redis_store.hpp"

#include "engines/redis/client/error_mapping.hpp"
#include "engines/redis/store/scripts.hpp"
#include "net/renew_in_batches.hpp"

#include <pawl/spi/rules.hpp>

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <utility>

namespace pawl::redis {

namespace {

// Leases renewed by one call of the script: Redis serves no other client meanwhile, for about 2 ms.
constexpr std::size_t renew_batch_max = 512;

}  // namespace

async<std::vector<renewal>> redis_store::renew(std::span<const held_lease> leases) {
    const auto self = shared_from_this();
    for (const auto& lease : leases)
        if (auto rejected = rules::reject_long_ttl(settings_->common.quarantine, lease.ttl))
            co_return std::move(*rejected);
    if (servers_->is_cluster()) co_return co_await renew_sharded(leases);
    auto renewing = net::renew_in_batches(
        leases, renew_batch_max, servers_->place(),
        [this](std::span<const held_lease> batch, std::vector<renewal>& answers) {
            return renew_batch(batch, answers);
        });
    co_return co_await std::move(renewing);
}

script_call redis_store::renew_call(const names& in,
                                    const std::vector<const held_lease*>& leases) const {
    script_call call{scripts::all().renew, leases.size()};
    for (const auto* lease : leases) call.add(in.lock, lease->key);
    call.add(retention_);
    for (const auto* lease : leases) {
        call.add(holder_digits(lease->token)).add(lease->ttl.count());
        call.add(lease->max_lifetime.count());
        call.add(lease->if_expired == expired_renewal::extend_if_unclaimed ? "extend" : "lose");
    }
    call.confirm_by(settings_->replicas);
    return call;
}

// One letter for each lease, and how many replicas have them where that counts. What is not
// confirmed is unknown: trust runs on, and the next beat may do better.
std::optional<failure> redis_store::take_renewals(answer& got,
                                                  const std::vector<std::size_t>& which,
                                                  std::vector<renewal>& answers) const {
    if (got.has_error()) return got.error();
    const bool confirmed = settings_->replicas > 0;
    if (confirmed && got->elements.size() != 2) return unexpected("renew");
    const auto& said = confirmed ? got->elements[0] : *got;
    if (!said.is_text() || said.text.size() != which.size()) return unexpected("renew");
    const auto copies = confirmed ? got->elements[1].number : 0;
    if (copies < settings_->replicas) return unconfirmed(servers_->place(), copies, *settings_);
    for (std::size_t i = 0; i < which.size(); ++i) {
        if (said.text[i] == '1') answers[which[i]] = renewal::renewed;
        if (said.text[i] == '0') answers[which[i]] = renewal::lost;
    }
    return std::nullopt;
}

async<bool> redis_store::renew_batch(std::span<const held_lease> leases,
                                     std::vector<renewal>& answers) {
    std::vector<const held_lease*> asked;
    std::vector<std::size_t> which;
    for (const auto& lease : leases) {
        which.push_back(answers.size() + asked.size());
        asked.push_back(&lease);
    }
    const auto call = renew_call(names_.front(), asked);
    auto got = co_await servers_->run(call, 0);
    answers.resize(answers.size() + leases.size(), renewal::unknown);
    if (auto bad = take_renewals(got, which, answers)) co_return std::move(*bad);
    co_return true;
}

// A script for each shard, and one write for each node. A node that fails makes its own leases
// unknown and no others.
async<std::vector<renewal>> redis_store::renew_sharded(std::span<const held_lease> leases) {
    std::vector<std::vector<std::size_t>> groups;
    std::vector<std::size_t> open_group(cluster_shards, SIZE_MAX);
    for (std::size_t i = 0; i < leases.size(); ++i) {
        auto& group = open_group[shard_of_key(leases[i].key)];
        if (group == SIZE_MAX || groups[group].size() == renew_batch_max) {
            group = groups.size();
            groups.emplace_back();
        }
        groups[group].push_back(i);
    }
    std::vector<renewal> answers(leases.size(), renewal::unknown);
    std::optional<failure> why;
    while (!groups.empty()) {
        std::vector<sharded_call> calls;
        for (const auto& group : groups) {
            const auto at = spot_of(leases[group.front()].key);
            std::vector<const held_lease*> asked;
            asked.reserve(group.size());
            for (const auto which : group) asked.push_back(&leases[which]);
            calls.push_back({renew_call(at.in, asked), at.shard});
        }
        auto got = co_await servers_->run_all(std::move(calls));
        std::vector<std::vector<std::size_t>> alone;
        for (std::size_t i = 0; i < groups.size(); ++i) {
            if (got[i].has_value() && got[i]->is_error() && groups[i].size() > 1) {
                for (const auto which : groups[i]) alone.push_back({which});
                continue;
            }
            if (got[i].has_value() && got[i]->is_error())
                got[i] = explain_rejection(servers_->place(), got[i]->text);
            if (auto bad = take_renewals(got[i], groups[i], answers)) why = std::move(bad);
        }
        groups = std::move(alone);
        const auto state = co_await boost::asio::this_coro::cancellation_state;
        if (state.cancelled() != boost::asio::cancellation_type::none) break;
    }
    const auto unknown = std::count(answers.begin(), answers.end(), renewal::unknown);
    if (why && static_cast<std::size_t>(unknown) == answers.size()) co_return std::move(*why);
    co_return answers;
}

}  // namespace pawl::redis
