#include "engines/redis/store/redis_store.hpp"

#include "engines/redis/client/error_mapping.hpp"
#include "engines/redis/store/lease_text.hpp"
#include "engines/redis/store/scripts.hpp"

#include <pawl/spi/rules.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <utility>

namespace pawl::redis {

namespace {

// What acquire.lua answers when it does not grant.
enum rejection_kind : std::int64_t { held_by_other, cooldown, quarantined, early, done_already };

}  // namespace

void redis_store::add_claim(script_call& call, const claim& wanted, std::size_t shard) const {
    const auto& quarantine = settings_->common.quarantine;
    call.add(encode_id(wanted.id)).add(wanted.owner);
    call.add(wanted.ttl.count()).add(wanted.ttl.count() + retention_);
    if (wanted.occurrence || quarantine) {
        if (wanted.occurrence)
            call.add(number(*wanted.occurrence));
        else
            call.add("");
        call.add(wanted.delivery == delivery::at_most_once ? "once" : "again");
        call.add(settings_->common.max_skew.count());
    }
    if (quarantine) call.add(quarantine->count()).add(met_[shard] ? "seen" : "new").name_life();
    call.confirm_by(settings_->replicas).while_unconnected(wanted.on_store_down);
}

script_call redis_store::acquire_call(const claim& wanted, const spot& at) const {
    const bool marked = settings_->common.quarantine.has_value();
    const bool sharded = servers_->is_cluster();
    script_call call{scripts::all().acquire, 1u + (marked ? 2u : 0u) + (sharded ? 1u : 0u)};
    call.add(at.in.lock, wanted.key);
    if (marked) call.add(at.in.marker).add(at.in.history);
    // What a script touches must be declared, or a cluster cannot tell where it may run.
    if (sharded) call.add(at.in.index);
    add_claim(call, wanted, at.shard);
    return call;
}

// A quarantine is of a namespace, and every shard remembers it for itself: those that no client
// claims in until a restart would not know that they were whole before it. And while one of them is
// quarantined all of them are. A shard that cannot be reached does without, and is then quarantined
// by itself, longer than need be.
boost::asio::awaitable<void> redis_store::mark_shards() {
    marked_ = true;
    const claim nothing{"", "", "", millis{0}};
    std::vector<sharded_call> calls;
    for (std::size_t shard = 0; shard < cluster_shards; ++shard) {
        script_call call{scripts::all().acquire, 3};
        call.add(names_[shard].lock).add(names_[shard].marker).add(names_[shard].history);
        add_claim(call, nothing, shard);
        call.confirm_by(0);
        calls.push_back({std::move(call), shard});
    }
    const auto told = co_await servers_->run_all(std::move(calls));
    millis longest{0};
    for (const auto& one : told)
        if (one.has_value() && one->elements.size() == 4 && one->elements[0].number == quarantined)
            longest = std::max(longest, millis{one->elements[2].number});
    whole_from_ = lease_clock::now() + longest;
}

// For a key that is listed already, which needs its index no more.
script_call redis_store::acquire_alone(const claim& wanted, const spot& at) const {
    script_call call{scripts::all().acquire, 1};
    call.add(at.in.lock, wanted.key);
    add_claim(call, wanted, at.shard);
    return call;
}

// Without what only some stores need, in a frame as small as can be: every grant pays for it.
async<acquire_result<grant>> redis_store::acquire(claim wanted) {
    const auto self = shared_from_this();
    if (settings_->common.quarantine || settings_->replicas > 0)
        co_return co_await acquire_with_care(std::move(wanted));
    const auto at = spot_of(wanted.key);
    const auto call = acquire_call(wanted, at);
    const auto got = co_await servers_->run(
        call, at.shard, servers_->is_cluster() ? on_split::tell : on_split::wait);
    if (got.has_error()) co_return got.error();
    if (got->is_error()) co_return co_await acquire_listed(std::move(wanted));
    co_return read_result(wanted, *got);
}

// For a key whose index is on another node while its slot moves.
async<acquire_result<grant>> redis_store::acquire_listed(claim wanted) {
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    if (state.cancelled() != boost::asio::cancellation_type::none)
        co_return failure{errc::unreachable, servers_->place() + ": cancelled by the caller"};
    const auto at = spot_of(wanted.key);
    const auto call = acquire_alone(wanted, at);
    const auto got = co_await servers_->run(call, at.shard);
    if (got.has_error()) co_return got.error();
    co_return read_result(wanted, *got);
}

// Under quarantine, or with replicas that are to confirm.
async<acquire_result<grant>> redis_store::acquire_with_care(claim wanted) {
    const auto& quarantine = settings_->common.quarantine;
    if (auto rejected = rules::reject_long_ttl(quarantine, wanted.ttl))
        co_return std::move(*rejected);
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    if (quarantine && servers_->is_cluster() && !marked_) {
        co_await mark_shards();
        if (state.cancelled() != boost::asio::cancellation_type::none)
            co_return failure{errc::unreachable, servers_->place() + ": cancelled by the caller"};
    }
    if (const auto left = whole_from_ - lease_clock::now(); left > lease_clock::duration{0})
        co_return acquire_result<grant>{
            busy{fence_token{}, "", std::chrono::ceil<millis>(left), busy_reason::quarantined}};
    const auto at = spot_of(wanted.key);
    const auto call = acquire_call(wanted, at);
    const auto got = co_await servers_->run(call, at.shard);
    if (got.has_error()) co_return got.error();
    met_[at.shard] = true;
    if (settings_->replicas == 0) co_return read_result(wanted, *got);
    if (got->elements.size() != 2) co_return unexpected("acquire");
    auto answer = read_result(wanted, got->elements[0]);
    const auto copies = got->elements[1].number;
    if (answer.has_error() || !std::holds_alternative<grant>(*answer) ||
        copies >= settings_->replicas)
        co_return answer;
    auto why = unconfirmed(servers_->place(), copies, *settings_);
    // What may have used an occurrence up is asked for again under its id, or withdrawn until that
    // is confirmed.
    if (wanted.occurrence || state.cancelled() != boost::asio::cancellation_type::none)
        co_return why;
    auto returning = give_back(std::move(wanted), std::move(why));
    co_return co_await std::move(returning);
}

// A grant that may be forgotten is none.
async<acquire_result<grant>> redis_store::give_back(claim wanted, failure why) {
    withdrawal given_up{wanted.key, wanted.id, wanted.occurrence};
    const auto returned = co_await withdraw(std::move(given_up));
    if (returned.has_value())
        co_return failure{errc::rejected, why.detail + ": the grant was given back"};
    // It may have been, and then its id is dead: to ask for it again could go on for ever. Once is
    // enough: the id may be a client's, who has it granted elsewhere by then.
    co_return failure{errc::rejected, why.detail + ": the grant was given back, or expires"};
}

namespace {

boost::asio::awaitable<void> sweep_index(std::shared_ptr<servers> through,
                                         std::shared_ptr<std::vector<index_sweep>> sweeps,
                                         std::size_t shard, script_call call) {
    const auto got = co_await through->run(call, shard);
    (*sweeps)[shard].ended(got);
}

}  // namespace

// In the background, so that no claimer waits for it.
void redis_store::sweep_behind(const claim& granted) {
    const auto at = spot_of(granted.key);
    auto call = (*sweeps_)[at.shard].granted(at.in.index, at.in.lock, granted.key);
    if (!call) return;
    boost::asio::co_spawn(executor_, sweep_index(servers_, sweeps_, at.shard, *std::move(call)),
                          boost::asio::detached);
}

result<acquire_result<grant>> redis_store::read_result(const claim& wanted, const reply& got) {
    if (got.is_integer()) {
        sweep_behind(wanted);
        return acquire_result<grant>{grant{wanted.key, token_of(got), wanted.ttl}};
    }
    const auto& parts = got.elements;
    if (parts.size() < 2 || !parts[0].is_integer() || !parts[1].is_integer())
        return unexpected("acquire");
    const auto kind = parts[0].number;
    if (kind == done_already)
        return acquire_result<grant>{already_done{occurrence{parts[1].number}}};
    if (parts.size() != 4 || kind < held_by_other || kind > early) return unexpected("acquire");
    constexpr busy_reason reasons[] = {busy_reason::held, busy_reason::cooldown,
                                       busy_reason::quarantined, busy_reason::early};
    return acquire_result<grant>{busy{token_of(parts[1]), parts[3].text, millis{parts[2].number},
                                      reasons[static_cast<std::size_t>(kind)]}};
}

async<bool> redis_store::withdraw(withdrawal given_up) {
    const auto self = shared_from_this();
    const auto at = spot_of(given_up.key);
    script_call call{scripts::all().withdraw, 1};
    call.add(at.in.lock, given_up.key)
        .add(encode_id(given_up.id))
        .add(retention_)
        .add(at.in.channel, given_up.key);
    if (!given_up.occurrence) co_return co_await run_for_flag(call, at.shard);
    // A failover that forgot it would leave the occurrence used up, so it is confirmed as grants
    // are.
    call.add(number(*given_up.occurrence)).confirm_by(settings_->replicas);
    if (settings_->replicas == 0) co_return co_await run_for_flag(call, at.shard);
    const auto got = co_await servers_->run(call, at.shard);
    if (got.has_error()) co_return got.error();
    if (got->elements.size() != 2 || !got->elements[0].is_integer())
        co_return unexpected("withdraw");
    if (const auto copies = got->elements[1].number; copies < settings_->replicas)
        co_return unconfirmed(servers_->place(), copies, *settings_);
    co_return got->elements[0].number == 1;
}

}  // namespace pawl::redis
