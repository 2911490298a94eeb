#include "stores/redis/redis_store.hpp"

#include "base/ensure.hpp"
#include "base/text.hpp"
#include "stores/redis/lease_text.hpp"
#include "stores/redis/pipeline.hpp"
#include "stores/redis/refusals.hpp"
#include "stores/redis/scripts.hpp"
#include "stores/redis/subscriber.hpp"
#include "stores/rules/rules.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>

namespace pawl::redis {
namespace {

// Leases renewed by one call of the script: Redis serves nobody else meanwhile, for about 2 ms.
constexpr std::size_t renew_batch_max = 512;

// A release in place leaves a record its retention from the grant on, up to a TTL more than from
// the release on. Where that would show, the release pays for setting it anew.
constexpr millis retention_short = std::chrono::hours{24};

// What acquire.lua answers when it does not grant.
enum refusal_kind : std::int64_t { held_by_other, lingering, quarantined, early, done_already };

// The smallest string above all that start with `prefix`, or nothing when there is none.
std::optional<std::string> end_of_prefix(std::string prefix) {
    while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
    if (prefix.empty()) return std::nullopt;
    prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
    return prefix;
}

fence_token token_of(const reply& value) {
    return fence_token{static_cast<std::uint64_t>(value.number)};
}

// As it stands in a record: 16 digits, which hold every token below 2^53.
std::string digits_of(fence_token token) {
    std::string digits(16, '0');
    auto rest = number(token);
    for (auto digit = digits.rbegin(); digit != digits.rend() && rest > 0; ++digit, rest /= 10)
        *digit = static_cast<char>('0' + rest % 10);
    return digits;
}

class redis_store : public lease_store, public std::enable_shared_from_this<redis_store> {
public:
    redis_store(net::loop& where, redis_settings settings)
        : settings_{std::make_shared<const redis_settings>(std::move(settings))},
          place_{place_of(*settings_)},
          lock_prefix_{settings_->common.name_space + ":lock:"},
          fence_prefix_{settings_->common.name_space + ":fence:"},
          channel_prefix_{settings_->common.name_space + ":changed:"},
          index_{settings_->common.name_space + ":locks"},
          marker_{settings_->common.name_space + ":marker"},
          retention_{settings_->common.retention.count()},
          link_{pipeline::make(where, settings_)},
          subscriber_{subscriber::make(where, settings_)} {}

    ~redis_store() override {
        link_->close_from_anywhere();
        subscriber_->close_from_anywhere();
    }

    store_traits traits() const noexcept override {
        return {.strict_fencing = settings_->common.quarantine.has_value(),
                .notifies = true,
                .atomic_batch = true};
    }

    async<verdict> acquire(claim wanted) override;
    async<bool> withdraw(std::string key, std::string id) override;
    async<std::vector<renewal>> renew(std::span<const held> leases) override;
    async<bool> release(std::string key, fence_token token, farewell how) override;
    async<bool> evict(std::string key, fence_token token, millis delay) override;
    async<std::optional<record>> inspect(std::string key) override;
    async<page> list(std::string prefix, std::string after, std::size_t limit) override;
    async<void> wait_change(std::string key, fence_token seen) override;
    async<fence_verdict> fence(std::string resource, fence_token token, fence_rule rule) override;

private:
    async<void> connect();
    async<reply> run(const script_call& call);
    async<bool> run_for_flag(const script_call& call);
    result<verdict> read_verdict(const claim& wanted, const reply& got) const;
    void add_firing(script_call& call, const claim& wanted) const;
    async<bool> renew_batch(std::span<const held> leases, std::vector<renewal>& answers);
    async<std::optional<record>> look(std::string key);
    boost::asio::awaitable<void> count_waiters(std::vector<record>& records);

    failure unexpected(std::string_view what) const {
        return {errc::protocol,
                place_ + " does not speak RESP: an unexpected answer to " + std::string{what}};
    }
    std::string channel_of(std::string_view key) const {
        return std::string{channel_prefix_}.append(key);
    }

    // Constant after construction
    const std::shared_ptr<const redis_settings> settings_;
    const std::string place_;
    const std::string lock_prefix_, fence_prefix_, channel_prefix_, index_, marker_;
    const std::int64_t retention_;
    const std::shared_ptr<pipeline> link_;
    const std::shared_ptr<subscriber> subscriber_;

    // On the loop only
    std::string scratch_;  // the command being encoded; copied before anybody else encodes
};

// An error reply becomes a failure here: no verb sees one.
async<reply> redis_store::run(const script_call& call) {
    scratch_.clear();
    call.append_by_digest(scratch_);
    auto got = co_await link_->ask(scratch_);
    if (got.has_value() && got->is_error() && is_unknown_script(got->text)) {
        const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
        if (cancellation.cancelled() != boost::asio::cancellation_type::none)
            co_return failure{errc::unreachable, place_ + ": the caller gave up"};
        scratch_.clear();
        call.append_with_text(scratch_);
        got = co_await link_->ask(scratch_);
    }
    if (got.has_value() && got->is_error()) co_return explain_refusal(place_, got->text);
    co_return got;
}

async<bool> redis_store::run_for_flag(const script_call& call) {
    const auto got = co_await run(call);
    if (got.has_error()) co_return got.error();
    if (!got->is_integer()) co_return unexpected("a script");
    co_return got->number == 1;
}

void redis_store::add_firing(script_call& call, const claim& wanted) const {
    if (wanted.firing)
        call.add(number(*wanted.firing));
    else
        call.add("");
    call.add(wanted.mode == delivery::at_most_once ? "once" : "again");
    call.add(settings_->common.max_skew.count());
}

// Ends when a connection stands, or with the reason why it does not.
async<void> redis_store::connect() {
    scratch_.clear();
    command_writer{scratch_, 1}.add("PING");
    const auto got = co_await link_->ask(scratch_);
    if (got.has_error()) co_return got.error();
    co_return result<void>{};
}

async<verdict> redis_store::acquire(claim wanted) {
    const auto self = shared_from_this();
    const auto& quarantine = settings_->common.quarantine;
    if (auto refused = rules::refuse_long_ttl(quarantine, wanted.ttl))
        co_return std::move(*refused);
    if (quarantine && !link_->is_connected()) {
        // The claim names the life of the server that it is meant for.
        const auto stands = co_await connect();
        if (stands.has_error()) co_return stands.error();
    }
    script_call call{scripts::all().acquire, quarantine ? 2u : 1u};
    call.add(lock_prefix_, wanted.key);
    if (quarantine) call.add(marker_);
    call.add(encode_id(wanted.id)).add(wanted.owner);
    call.add(wanted.ttl.count()).add(wanted.ttl.count() + retention_);
    if (wanted.firing || quarantine) add_firing(call, wanted);
    if (quarantine) {
        const auto& facts = link_->facts();
        call.add(quarantine->count()).add(facts.run_id);
        call.add(facts.writes == durability::synced ? "synced" : "uncertain");
    }
    const auto got = co_await run(call);
    if (got.has_error()) co_return got.error();
    co_return read_verdict(wanted, *got);
}

result<verdict> redis_store::read_verdict(const claim& wanted, const reply& got) const {
    if (got.is_integer()) return verdict{grant{wanted.key, token_of(got), wanted.ttl}};
    const auto& parts = got.elements;
    if (parts.size() < 2 || !parts[0].is_integer() || !parts[1].is_integer())
        return unexpected("acquire");
    const auto kind = parts[0].number;
    if (kind == done_already) return verdict{already_done{occurrence{parts[1].number}}};
    if (parts.size() != 4 || kind < held_by_other || kind > early) return unexpected("acquire");
    constexpr busy_reason reasons[] = {busy_reason::held, busy_reason::lingering,
                                       busy_reason::quarantined, busy_reason::early};
    return verdict{busy{token_of(parts[1]), parts[3].text, millis{parts[2].number},
                        reasons[static_cast<std::size_t>(kind)]}};
}

async<bool> redis_store::withdraw(std::string key, std::string id) {
    const auto self = shared_from_this();
    script_call call{scripts::all().withdraw, 1};
    call.add(lock_prefix_, key).add(encode_id(id)).add(retention_).add(channel_prefix_, key);
    co_return co_await run_for_flag(call);
}

async<std::vector<renewal>> redis_store::renew(std::span<const held> leases) {
    const auto self = shared_from_this();
    for (const auto& lease : leases)
        if (auto refused = rules::refuse_long_ttl(settings_->common.quarantine, lease.ttl))
            co_return std::move(*refused);
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
        co_return failure{errc::outcome_unknown, place_ + ": the caller gave up"};
    co_return answers;
}

async<bool> redis_store::renew_batch(std::span<const held> leases, std::vector<renewal>& answers) {
    script_call call{scripts::all().renew, leases.size()};
    for (const auto& lease : leases) call.add(lock_prefix_, lease.key);
    call.add(retention_);
    for (const auto& lease : leases) {
        call.add(digits_of(lease.token)).add(lease.ttl.count());
        call.add(lease.max_lifetime.count());
        call.add(lease.if_lapsed == lapse::extend_if_unclaimed ? "extend" : "lose");
    }
    const auto got = co_await run(call);
    if (got.has_error()) co_return got.error();
    if (!got->is_text() || got->text.size() != leases.size()) co_return unexpected("renew");
    for (const char renewed : got->text)
        answers.push_back(renewed == '1' ? renewal::renewed : renewal::lost);
    co_return true;
}

async<bool> redis_store::release(std::string key, fence_token token, farewell how) {
    const auto self = shared_from_this();
    script_call call{scripts::all().release, 1};
    call.add(lock_prefix_, key).add(digits_of(token));
    if (how.at_least.count() > 0 || how.done || settings_->common.retention < retention_short) {
        if (how.at_least == farewell::until_expiry)
            call.add("until_expiry");
        else
            call.add(how.at_least.count());
        if (how.done)
            call.add(number(*how.done));
        else
            call.add("");
        call.add(retention_);
    }
    co_return co_await run_for_flag(call);
}

async<bool> redis_store::evict(std::string key, fence_token token, millis delay) {
    const auto self = shared_from_this();
    script_call call{scripts::all().evict, 1};
    call.add(lock_prefix_, key).add(digits_of(token)).add(retention_);
    call.add(channel_prefix_, key).add(delay.count());
    co_return co_await run_for_flag(call);
}

async<std::optional<record>> redis_store::look(std::string key) {
    script_call call{scripts::all().inspect, 1};
    call.add(lock_prefix_, key);
    const auto got = co_await run(call);
    if (got.has_error()) co_return got.error();
    if (got->elements.empty() || !got->elements[0].is_integer()) co_return unexpected("inspect");
    if (got->elements.size() < 2 || !got->elements[1].is_text()) co_return std::optional<record>{};
    co_return parse_record(key, got->elements[1].text, got->elements[0].number);
}

// Redis counts connections, of which each process has one for all that wait in it.
boost::asio::awaitable<void> redis_store::count_waiters(std::vector<record>& records) {
    scratch_.clear();
    command_writer command{scratch_, records.size() + 2};
    command.add("PUBSUB").add("NUMSUB");
    for (const auto& one : records) command.add(channel_prefix_, one.key);
    const auto got = co_await link_->ask(scratch_);
    // Without the privilege nobody knows, which is no failure.
    if (got.has_error() || got->elements.size() != records.size() * 2) co_return;
    for (std::size_t i = 0; i < records.size(); ++i) {
        const auto channel = channel_of(records[i].key);
        auto others = got->elements[2 * i + 1].number;
        if (subscriber_->is_subscribed(channel)) --others;
        records[i].waiters = static_cast<std::uint32_t>(std::max<std::int64_t>(others, 0)) +
                             subscriber_->watchers_of(channel);
    }
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

async<page> redis_store::list(std::string prefix, std::string after, std::size_t limit) {
    const auto self = shared_from_this();
    base::ensure(limit >= 1 && limit <= page_limit_max);
    const auto end = end_of_prefix(prefix);
    script_call call{scripts::all().list, 1};
    call.add(index_).add(lock_prefix_);
    if (after >= prefix && !after.empty())
        call.add("(", after);
    else
        call.add("[", prefix);
    if (end)
        call.add("(", *end);
    else
        call.add("+");
    // One more than asked for tells whether there is another page.
    call.add(static_cast<std::int64_t>(limit + 1));
    const auto got = co_await run(call);
    if (got.has_error()) co_return got.error();
    const auto& parts = got->elements;
    if (parts.empty() || !parts[0].is_integer() || parts.size() % 2 != 1)
        co_return unexpected("list");
    page found;
    const auto count = std::min(limit, parts.size() / 2);
    for (std::size_t i = 0; i < count; ++i) {
        auto one = parse_record(parts[2 * i + 1].text, parts[2 * i + 2].text, parts[0].number);
        if (one) found.records.push_back(std::move(*one));
    }
    if (parts.size() / 2 > limit) found.next = parts[2 * count - 1].text;
    if (!found.records.empty()) co_await count_waiters(found.records);
    co_return found;
}

async<void> redis_store::wait_change(std::string key, fence_token seen) {
    const auto self = shared_from_this();
    watcher waiting{subscriber_, channel_of(key)};
    const auto confirmed = co_await waiting.confirmed();
    if (confirmed.has_error()) co_return confirmed.error();
    auto cancellation = co_await boost::asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != boost::asio::cancellation_type::none) co_return result<void>{};
    // What changed before the subscription was never announced to us.
    script_call call{scripts::all().watch, 1};
    call.add(lock_prefix_, key).add(digits_of(seen));
    const auto unchanged = co_await run_for_flag(call);
    cancellation = co_await boost::asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != boost::asio::cancellation_type::none) co_return result<void>{};
    if (unchanged.has_error()) co_return unchanged.error();
    if (!*unchanged) co_return result<void>{};
    co_return co_await waiting.rung();
}

async<fence_verdict> redis_store::fence(std::string resource, fence_token token, fence_rule rule) {
    const auto self = shared_from_this();
    script_call call{scripts::all().fence, 1};
    call.add(fence_prefix_, resource).add(digits_of(token));
    call.add(rule == fence_rule::reject_older ? "older" : "not_newer");
    const auto got = co_await run(call);
    if (got.has_error()) co_return got.error();
    if (got->elements.size() != 2 || !got->elements[1].is_integer()) co_return unexpected("fence");
    co_return fence_verdict{got->elements[0].number == 1, token_of(got->elements[1])};
}

}  // namespace

std::shared_ptr<lease_store> make_redis_store(net::loop& where, redis_settings settings) {
    base::ensure(!base::name_space_fault(settings.common.name_space));
    return std::make_shared<redis_store>(where, std::move(settings));
}

}  // namespace pawl::redis
