#include "engines/redis/store/redis_store.hpp"

#include <pawl/spi/rules.hpp>
#include "base/ensure.hpp"
#include "base/number.hpp"
#include "base/prefix.hpp"
#include "base/text.hpp"
#include "engines/redis/client/refusals.hpp"
#include "engines/redis/client/servers.hpp"
#include "engines/redis/client/slots.hpp"
#include "engines/redis/store/examine_servers.hpp"
#include "engines/redis/store/lease_text.hpp"
#include "engines/redis/store/pages.hpp"
#include "engines/redis/store/scripts.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace pawl::redis {
namespace {

// Leases renewed by one call of the script: Redis serves nobody else meanwhile, for about 2 ms.
constexpr std::size_t renew_batch_max = 512;

// A release in place leaves a record its retention from the grant on, up to a TTL more than from
// the release on. Where that would show, the release pays for setting it anew.
constexpr millis retention_short = std::chrono::hours{24};

// What acquire.lua answers when it does not grant.
enum refusal_kind : std::int64_t { held_by_other, lingering, quarantined, early, done_already };

fence_token token_of(const reply& value) {
    return fence_token{static_cast<std::uint64_t>(value.number)};
}

// As it stands in a record: 16 digits, which hold every token below 2^53.
std::string digits_of(fence_token token) { return base::padded(number(token), 16); }

// What a namespace, or a shard of one, calls its keys.
struct names {
    explicit names(const std::string& space)
        : lock{space + ":lock:"},
          fence{space + ":fence:"},
          channel{space + ":changed:"},
          index{space + ":locks"},
          marker{space + ":marker"},
          history{space + ":history"} {}

    std::string lock, fence, channel;  // each to be followed by a key
    std::string index, marker, history;
};

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

class redis_store : public lease_store, public std::enable_shared_from_this<redis_store> {
public:
    redis_store(net::loop& where, redis_settings settings)
        : settings_{std::make_shared<const redis_settings>(std::move(settings))},
          names_{names_for(*settings_)},
          retention_{settings_->common.retention.count()},
          servers_{servers::make(where, settings_)},
          met_(names_.size(), false) {}

    ~redis_store() override { servers_->close_from_anywhere(); }

    store_traits traits() const noexcept override {
        return {.strict_fencing = settings_->common.quarantine.has_value(),
                .notifies = true,
                .atomic_batch = !servers_->is_cluster()};
    }

#include "engines/rules/store/verbs.inc"

private:
    // A key, and where it is.
    struct spot {
        const names& in;
        std::size_t shard;
    };
    spot spot_of(std::string_view key) const {
        const auto shard = servers_->is_cluster() ? shard_of_key(key) : 0;
        return {names_[shard], shard};
    }

    async<void> hear_change(std::string key, fence_token seen);
    async<bool> run_for_flag(const script_call& call, std::size_t shard);
    script_call acquire_call(const claim& wanted, const spot& at) const;
    script_call acquire_alone(const claim& wanted, const spot& at) const;
    void add_claim(script_call& call, const claim& wanted, std::size_t shard) const;
    script_call fence_call(const std::string& resource, fence_token token, fence_rule rule) const;
    result<acquire_result<grant>> read_result(const claim& wanted, const reply& got) const;
    boost::asio::awaitable<void> mark_shards();
    async<acquire_result<grant>> acquire_listed(claim wanted);
    async<acquire_result<grant>> acquire_with_care(claim wanted);
    async<acquire_result<grant>> give_back(claim wanted, failure why);

    script_call renew_call(const names& in, const std::vector<const held*>& leases) const;
    async<bool> renew_batch(std::span<const held> leases, std::vector<renewal>& answers);
    async<std::vector<renewal>> renew_sharded(std::span<const held> leases);
    std::optional<failure> take_renewals(answer& got, const std::vector<std::size_t>& which,
                                         std::vector<renewal>& answers) const;

    script_call list_call(const names& in, std::string_view prefix, std::string_view after,
                          std::size_t limit) const;
    result<page> read_page(const reply& got, std::size_t limit) const;
    async<page> list_sharded(std::string prefix, std::string after, std::size_t limit);

    async<std::optional<record>> look(std::string key);
    boost::asio::awaitable<void> count_waiters(std::vector<record>& records);

    failure unexpected(std::string_view what) const {
        return {errc::protocol, servers_->place() +
                                    " does not speak RESP: an unexpected answer to " +
                                    std::string{what}};
    }

    // Constant after construction
    const std::shared_ptr<const redis_settings> settings_;
    const std::vector<names> names_;  // of each shard; one unless in a cluster
    const std::int64_t retention_;
    const std::shared_ptr<servers> servers_;

    // On the loop only
    std::vector<bool> met_;  // the shards whose data this client has met, under a quarantine
    bool marked_ = false;    // every shard of the cluster has been given its marker
    instant whole_from_{};   // until then the cluster is quarantined as a whole
    std::string scratch_;    // the command being encoded; copied before anybody else encodes
};

async<bool> redis_store::run_for_flag(const script_call& call, std::size_t shard) {
    const auto got = co_await servers_->run(call, shard);
    if (got.has_error()) co_return got.error();
    if (!got->is_integer()) co_return unexpected("a script");
    co_return got->number == 1;
}

// ---- Claims

void redis_store::add_claim(script_call& call, const claim& wanted, std::size_t shard) const {
    const auto& quarantine = settings_->common.quarantine;
    call.add(encode_id(wanted.id)).add(wanted.owner);
    call.add(wanted.ttl.count()).add(wanted.ttl.count() + retention_);
    if (wanted.occurrence || quarantine) {
        if (wanted.occurrence)
            call.add(number(*wanted.occurrence));
        else
            call.add("");
        call.add(wanted.mode == delivery::at_most_once ? "once" : "again");
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

// A quarantine is of a namespace, and every shard remembers it for itself: those that nobody claims
// in until a restart would not know that they were whole before it. And while one of them is
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
        co_return failure{errc::unreachable, servers_->place() + ": the caller gave up"};
    const auto at = spot_of(wanted.key);
    const auto call = acquire_alone(wanted, at);
    const auto got = co_await servers_->run(call, at.shard);
    if (got.has_error()) co_return got.error();
    co_return read_result(wanted, *got);
}

// Under quarantine, or with replicas that are to confirm.
async<acquire_result<grant>> redis_store::acquire_with_care(claim wanted) {
    const auto& quarantine = settings_->common.quarantine;
    if (auto refused = rules::refuse_long_ttl(quarantine, wanted.ttl))
        co_return std::move(*refused);
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    if (quarantine && servers_->is_cluster() && !marked_) {
        co_await mark_shards();
        if (state.cancelled() != boost::asio::cancellation_type::none)
            co_return failure{errc::unreachable, servers_->place() + ": the caller gave up"};
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
    if (returned.has_error()) co_return why;
    co_return failure{errc::rejected, why.detail + ": the grant was given back"};
}

result<acquire_result<grant>> redis_store::read_result(const claim& wanted,
                                                       const reply& got) const {
    if (got.is_integer())
        return acquire_result<grant>{grant{wanted.key, token_of(got), wanted.ttl}};
    const auto& parts = got.elements;
    if (parts.size() < 2 || !parts[0].is_integer() || !parts[1].is_integer())
        return unexpected("acquire");
    const auto kind = parts[0].number;
    if (kind == done_already)
        return acquire_result<grant>{already_done{occurrence{parts[1].number}}};
    if (parts.size() != 4 || kind < held_by_other || kind > early) return unexpected("acquire");
    constexpr busy_reason reasons[] = {busy_reason::held, busy_reason::lingering,
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

// ---- Renewals

async<std::vector<renewal>> redis_store::renew(std::span<const held> leases) {
    const auto self = shared_from_this();
    for (const auto& lease : leases)
        if (auto refused = rules::refuse_long_ttl(settings_->common.quarantine, lease.ttl))
            co_return std::move(*refused);
    if (servers_->is_cluster()) co_return co_await renew_sharded(leases);
    std::vector<renewal> answers;
    answers.reserve(leases.size());
    while (answers.size() < leases.size()) {
        const auto rest = leases.subspan(answers.size());
        const auto batch = rest.first(std::min(rest.size(), renew_batch_max));
        const auto done = co_await renew_batch(batch, answers);
        if (done.has_error()) co_return done.error();
        const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
        if (cancellation.cancelled() != boost::asio::cancellation_type::none) break;
    }
    if (answers.size() < leases.size())
        co_return failure{errc::outcome_unknown, servers_->place() + ": the caller gave up"};
    co_return answers;
}

script_call redis_store::renew_call(const names& in, const std::vector<const held*>& leases) const {
    script_call call{scripts::all().renew, leases.size()};
    for (const auto* lease : leases) call.add(in.lock, lease->key);
    call.add(retention_);
    for (const auto* lease : leases) {
        call.add(digits_of(lease->token)).add(lease->ttl.count());
        call.add(lease->max_lifetime.count());
        call.add(lease->if_expired == expired_renewal::extend_if_unclaimed ? "extend" : "lose");
    }
    call.confirm_by(settings_->replicas);
    return call;
}

// One digit for each lease, and how many replicas have them where that counts. What is not
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
    for (std::size_t i = 0; i < which.size(); ++i)
        answers[which[i]] = said.text[i] == '1' ? renewal::renewed : renewal::lost;
    return std::nullopt;
}

async<bool> redis_store::renew_batch(std::span<const held> leases, std::vector<renewal>& answers) {
    std::vector<const held*> asked;
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
async<std::vector<renewal>> redis_store::renew_sharded(std::span<const held> leases) {
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
            std::vector<const held*> asked;
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
                got[i] = explain_refusal(servers_->place(), got[i]->text);
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

// ---- Ends of leases

async<bool> redis_store::release(std::string key, fence_token token, release_options how) {
    const auto self = shared_from_this();
    const auto at = spot_of(key);
    script_call call{scripts::all().release, 1};
    call.add(at.in.lock, key).add(digits_of(token));
    if (how.at_least.count() > 0 || how.done || settings_->common.retention < retention_short) {
        if (how.at_least == release_options::until_expiry)
            call.add("until_expiry");
        else
            call.add(how.at_least.count());
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

// ---- Looking

async<std::optional<record>> redis_store::look(std::string key) {
    const auto at = spot_of(key);
    script_call call{scripts::all().inspect, 1};
    call.add(at.in.lock, key);
    const auto got = co_await servers_->run(call, at.shard);
    if (got.has_error()) co_return got.error();
    if (got->elements.empty() || !got->elements[0].is_integer()) co_return unexpected("inspect");
    if (got->elements.size() < 2 || !got->elements[1].is_text()) co_return std::optional<record>{};
    co_return parse_record(key, got->elements[1].text, got->elements[0].number);
}

// Redis counts connections, of which each process has one for all that wait in it. A node of a
// cluster counts its own only.
boost::asio::awaitable<void> redis_store::count_waiters(std::vector<record>& records) {
    const auto deadline = servers_->deadline_from_now();
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    const auto asked = co_await servers_->all(deadline);
    if (asked.has_error()) co_return;
    std::vector<std::int64_t> counts(records.size(), 0);
    for (const auto& one : *asked) {
        if (state.cancelled() != boost::asio::cancellation_type::none) co_return;
        scratch_.clear();
        command_writer command{scratch_, records.size() + 2};
        command.add("PUBSUB").add("NUMSUB");
        for (const auto& seen : records) command.add(spot_of(seen.key).in.channel, seen.key);
        const auto got = co_await one->link->ask(scratch_, 1, deadline);
        // Without the privilege nobody knows, which is no failure.
        if (got.has_error() || got->elements.size() != records.size() * 2) co_return;
        for (std::size_t i = 0; i < records.size(); ++i) {
            const auto channel = spot_of(records[i].key).in.channel + records[i].key;
            auto others = got->elements[2 * i + 1].number;
            if (one->ears->is_subscribed(channel)) --others;
            counts[i] += std::max<std::int64_t>(others, 0) + one->ears->watchers_of(channel);
        }
    }
    for (std::size_t i = 0; i < records.size(); ++i)
        records[i].waiters = static_cast<std::uint32_t>(counts[i]);
}

async<std::optional<record>> redis_store::inspect(std::string key) {
    const auto self = shared_from_this();
    auto found = co_await look(std::move(key));
    if (found.has_error() || !found->has_value()) co_return found;
    std::vector<record> one;
    one.push_back(std::move(**found));
    co_await count_waiters(one);
    co_return std::optional<record>{std::move(one.front())};
}

script_call redis_store::list_call(const names& in, std::string_view prefix, std::string_view after,
                                   std::size_t limit) const {
    script_call call{scripts::all().list, 1};
    call.add(in.index).add(in.lock);
    if (after >= prefix && !after.empty())
        call.add("(", after);
    else
        call.add("[", prefix);
    if (const auto end = base::end_of_prefix(std::string{prefix}))
        call.add("(", *end);
    else
        call.add("+");
    call.add(static_cast<std::int64_t>(limit));
    return call;
}

// `next` is the last key that was read where there may be more.
result<page> redis_store::read_page(const reply& got, std::size_t limit) const {
    const auto& parts = got.elements;
    if (parts.empty() || !parts[0].is_integer() || parts.size() % 2 != 1) return unexpected("list");
    page found;
    for (std::size_t i = 1; i + 1 < parts.size(); i += 2)
        if (auto one = parse_record(parts[i].text, parts[i + 1].text, parts[0].number))
            found.records.push_back(std::move(*one));
    if (parts.size() / 2 >= limit) found.next = parts[parts.size() - 2].text;
    return found;
}

async<page> redis_store::list(std::string prefix, std::string after, std::size_t limit) {
    const auto self = shared_from_this();
    base::ensure(limit >= 1 && limit <= page_limit_max);
    page found;
    if (servers_->is_cluster()) {
        auto merged = co_await list_sharded(prefix, after, limit);
        if (merged.has_error()) co_return merged;
        found = std::move(*merged);
    } else {
        // One more than asked for tells whether there is another page.
        const auto call = list_call(names_.front(), prefix, after, limit + 1);
        const auto got = co_await servers_->run(call, 0);
        if (got.has_error()) co_return got.error();
        auto read = read_page(*got, limit + 1);
        if (read.has_error()) co_return read;
        found = std::move(*read);
        if (const auto& parts = got->elements; parts.size() / 2 > limit) {
            // The one more may be no record that is shown.
            if (!found.records.empty() && found.records.back().key == found.next)
                found.records.pop_back();
            found.next = parts[2 * limit - 1].text;
        }
    }
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    if (state.cancelled() != boost::asio::cancellation_type::none) co_return found;
    if (!found.records.empty()) co_await count_waiters(found.records);
    co_return found;
}

// Every shard has its own index in byte order: the pages of all are merged. A shard is asked for a
// little more than its share, and again where that was not enough.
async<page> redis_store::list_sharded(std::string prefix, std::string after, std::size_t limit) {
    const auto portion = limit / cluster_shards * 2 + 8;
    std::vector<page> read(cluster_shards);
    std::vector<std::size_t> hungry;
    for (std::size_t shard = 0; shard < cluster_shards; ++shard) {
        read[shard].next = after;
        hungry.push_back(shard);
    }
    page merged;
    while (!hungry.empty()) {
        std::vector<sharded_call> calls;
        for (const auto shard : hungry)
            calls.push_back({list_call(names_[shard], prefix, read[shard].next, portion), shard});
        const auto got = co_await servers_->run_all(std::move(calls));
        for (std::size_t i = 0; i < hungry.size(); ++i) {
            if (got[i].has_error()) co_return got[i].error();
            if (got[i]->is_error()) co_return explain_refusal(servers_->place(), got[i]->text);
            auto more = read_page(*got[i], portion);
            if (more.has_error()) co_return more;
            std::reverse(more->records.begin(), more->records.end());
            read[hungry[i]] = std::move(*more);
        }
        hungry.clear();
        const auto state = co_await boost::asio::this_coro::cancellation_state;
        if (state.cancelled() != boost::asio::cancellation_type::none)
            co_return failure{errc::unreachable, servers_->place() + ": the caller gave up"};
        if (merge_pages(read, limit, merged)) break;
        for (std::size_t shard = 0; shard < cluster_shards; ++shard)
            if (read[shard].records.empty() && !read[shard].next.empty()) hungry.push_back(shard);
    }
    co_return merged;
}

// A verb never throws, but awaiting anything in a cancelled coroutine does, also in what it awaits.
async<void> redis_store::wait_change(std::string key, fence_token seen) {
    const auto self = shared_from_this();
    try {
        auto hearing = hear_change(std::move(key), seen);
        co_return co_await std::move(hearing);
    } catch (const boost::system::system_error&) {
        // The caller gave up, and expects no answer.
    }
    co_return result<void>{};
}

async<void> redis_store::hear_change(std::string key, fence_token seen) {
    const auto at = spot_of(key);
    const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
    const auto given_up = [&] {
        return cancellation.cancelled() != boost::asio::cancellation_type::none;
    };
    if (given_up()) co_return result<void>{};
    const auto served_by = co_await servers_->of(at.shard, servers_->deadline_from_now());
    if (given_up()) co_return result<void>{};
    if (served_by.has_error()) co_return served_by.error();
    watcher waiting{(*served_by)->ears, at.in.channel + key};
    const auto confirmed = co_await waiting.confirmed();
    if (given_up()) co_return result<void>{};
    if (confirmed.has_error()) co_return confirmed.error();
    // What changed before the subscription was never announced to us.
    script_call call{scripts::all().watch, 1};
    call.add(at.in.lock, key).add(digits_of(seen));
    const auto unchanged = co_await run_for_flag(call, at.shard);
    if (given_up()) co_return result<void>{};
    if (unchanged.has_error()) co_return unchanged.error();
    if (!*unchanged) co_return result<void>{};
    co_return co_await waiting.rung();
}

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

}  // namespace

std::shared_ptr<lease_store> make_redis_store(net::loop& where, redis_settings settings) {
    base::ensure(!base::name_space_fault(settings.common.name_space));
    return std::make_shared<redis_store>(where, std::move(settings));
}

}  // namespace pawl::redis
