#include "engines/postgresql/store/postgresql_store.hpp"

#include "base/ensure.hpp"
#include "base/prefix.hpp"
#include "base/text.hpp"
#include "engines/postgresql/client/listener.hpp"
#include "engines/postgresql/client/pool.hpp"
#include "engines/postgresql/store/examination.hpp"
#include "engines/postgresql/store/known_keys.hpp"
#include "engines/postgresql/store/statements.hpp"
#include "engines/postgresql/store/store_layout.hpp"
#include "engines/rules/store/retention.hpp"
#include "net/renew_in_batches.hpp"

#include <pawl/spi/rules.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace pawl::postgresql {
namespace {

// Leases renewed by one statement: their rows are locked until it ends, for about 10 ms.
constexpr std::size_t renew_batch_max = 1024;

// A renewal waits for locked rows for this part of the timeout, and does without them then.
constexpr std::int64_t lock_timeout_part = 8;

// Who acquires looks for records to forget, so many at a time and not more often than this.
constexpr std::int32_t purge_batch_max = 1000;
constexpr millis purge_pause_max{60'000};

// A wait without notifications ends by itself; its caller polls anyway.
constexpr millis silent_wait_max{45'000};

// What acquire_v1 answers.
enum acquire_kind : std::int64_t { granted, held_by_other, cooldown, quarantined, early, done };

// What is beyond the server's numbers was never issued, and still is not then.
std::int64_t signed_number(fence_token token) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(std::min(number(token), static_cast<std::uint64_t>(most)));
}

fence_token token_of(std::int64_t value) { return fence_token{static_cast<std::uint64_t>(value)}; }

// The columns of list_v1 and inspect_v1.
record record_in(const rows& got, int row) {
    record one;
    one.key = got.bytes(row, 0);
    one.owner = got.bytes(row, 1);
    one.holder = token_of(got.integer(row, 2));
    one.remaining = millis{got.integer(row, 3)};
    one.acquired_at = got.integer(row, 4);
    if (!got.is_null(row, 5)) one.last_done = occurrence{got.integer(row, 5)};
    one.last_token = token_of(got.integer(row, 6));
    return one;
}

class postgresql_store : public lease_store, public std::enable_shared_from_this<postgresql_store> {
public:
    postgresql_store(net::loop& where, postgresql_settings settings)
        : settings_{std::make_shared<const postgresql_settings>(std::move(settings))},
          space_{settings_->common.name_space},
          executor_{where.get_executor()},
          pool_{pool::make(where, settings_, store_layout())},
          renewals_{pool::make(where, one_connection(*settings_), store_layout())},
          listener_{listener::make(where, settings_, pool_)},
          text_{std::make_shared<const statements>(settings_->schema)} {}

    ~postgresql_store() override {
        pool_->close_from_anywhere();
        renewals_->close_from_anywhere();
        listener_->close_from_anywhere();
    }

    store_traits traits() const noexcept override {
        return {.strict_fencing = settings_->common.quarantine.has_value(),
                .notifies = !listener_->is_deaf(),
                .atomic_batch = true};
    }

#include "engines/rules/store/verbs.inc"
    async<std::vector<std::optional<record>>> inspect_many(std::vector<std::string> keys) override;

private:
    statement call(const statement_text& text) const {
        statement made{std::shared_ptr<const statement_text>{text_, &text}};
        made.add_text(space_);
        return made;
    }
    // Whether the ordinary case may do without a function. Without prepared statements it must not:
    // to plan the statement each time costs more than the call.
    bool writes_itself() const { return pool_->writes() && pool_->prepares(); }
    bool is_ordinary(const claim& wanted) const {
        return writes_itself() && !wanted.occurrence && !settings_->common.quarantine &&
               known_.has(wanted.key);
    }
    enum class written { row, nothing, failed };  // nothing: the function is to decide
    written read_written(const answer& got);
    async<bool> ask_for_flag(statement what);
    async<bool> renew_batch(std::span<const held_lease> leases, std::vector<renewal>& answers);
    async<bool> still_held(const std::string& key, fence_token seen);
    async<void> wait_in_silence(std::string key, fence_token seen);
    result<acquire_result<grant>> read_result(const claim& wanted, const rows& got) const;
    void purge_now_and_then();
    static boost::asio::awaitable<void> purge(std::shared_ptr<postgresql_store> self);

    failure given_up() const {
        return {errc::outcome_unknown, place_of(settings_->servers) + ": cancelled by the caller"};
    }
    failure unexpected(std::string_view what) const {
        return {errc::protocol,
                place_of(settings_->servers) + ": an unexpected answer to " + std::string{what}};
    }

    // Constant after construction
    const std::shared_ptr<const postgresql_settings> settings_;
    const std::string space_;
    const net::loop::executor_type executor_;
    const std::shared_ptr<pool> pool_;
    // Apart from the others, because a claim that waits for a row's lock holds up what was sent
    // behind it.
    const std::shared_ptr<pool> renewals_;
    const std::shared_ptr<listener> listener_;
    const std::shared_ptr<const statements> text_;

    // On the loop only
    known_keys known_;
    instant purge_next_{};
    bool purging_ = false;
    std::string purged_to_;  // where the next look begins
};

// What a statement did that goes without a function.
postgresql_store::written postgresql_store::read_written(const answer& got) {
    if (got.has_value()) return got->count() == 1 ? written::row : written::nothing;
    if (got.error().code != errc::denied) return written::failed;
    pool_->may_not_write();
    return written::nothing;
}

async<bool> postgresql_store::ask_for_flag(statement what) {
    auto asking = pool_->ask(std::move(what));
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->count() != 1 || got->columns() != 1) co_return unexpected("a function");
    co_return got->flag(0, 0);
}

async<acquire_result<grant>> postgresql_store::acquire(claim wanted) {
    const auto self = shared_from_this();
    const auto& common = settings_->common;
    if (auto rejected = rules::reject_long_ttl(common.quarantine, wanted.ttl))
        co_return std::move(*rejected);
    if (is_ordinary(wanted)) {
        auto asked = call(text_->acquire_known);
        asked.add_bytes(wanted.key).add_bytes(wanted.id).add_bytes(wanted.owner);
        asked.add(std::int64_t{wanted.ttl.count()});
        auto asking = pool_->ask(std::move(asked), wanted.on_store_down);
        const auto got = co_await std::move(asking);
        const auto done = read_written(got);
        if (done == written::failed) co_return got.error();
        if (done == written::row) {
            purge_now_and_then();
            const auto token = token_of(got->integer(0, 0));
            co_return acquire_result<grant>{grant{wanted.key, token, wanted.ttl}};
        }
        known_.remove(wanted.key);
        const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
        if (cancellation.cancelled() != boost::asio::cancellation_type::none) co_return given_up();
    }
    auto asked = call(text_->acquire);
    asked.add_bytes(wanted.key).add_bytes(wanted.id).add_bytes(wanted.owner);
    asked.add(std::int64_t{wanted.ttl.count()});
    asked.add_or_null(wanted.occurrence ? std::optional{number(*wanted.occurrence)} : std::nullopt);
    asked.add_flag(wanted.delivery == delivery::at_most_once);
    asked.add(std::int64_t{common.max_skew.count()});
    asked.add_or_null(common.quarantine ? std::optional<std::int64_t>{common.quarantine->count()}
                                        : std::nullopt);
    auto asking = pool_->ask(std::move(asked), wanted.on_store_down);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    auto told = read_result(wanted, *got);
    if (told.has_value() && std::holds_alternative<grant>(*told)) known_.add(wanted.key);
    purge_now_and_then();
    co_return told;
}

result<acquire_result<grant>> postgresql_store::read_result(const claim& wanted,
                                                            const rows& got) const {
    if (got.count() != 1 || got.columns() != 1) return unexpected("acquire_v1");
    const auto fields = got.fields(0, 0);
    if (fields.size() != 4) return unexpected("acquire_v1");
    const auto kind = integer_in(fields[0]), token = integer_in(fields[1]);
    if (kind == granted)
        return acquire_result<grant>{grant{wanted.key, token_of(token), wanted.ttl}};
    if (kind == done) return acquire_result<grant>{already_done{occurrence{token}}};
    if (kind < held_by_other || kind > early) return unexpected("acquire_v1");
    constexpr busy_reason reasons[] = {busy_reason::held, busy_reason::held, busy_reason::cooldown,
                                       busy_reason::quarantined, busy_reason::early};
    return acquire_result<grant>{busy{token_of(token), std::string{fields[3]},
                                      millis{integer_in(fields[2])},
                                      reasons[static_cast<std::size_t>(kind)]}};
}

async<bool> postgresql_store::withdraw(withdrawal given_up) {
    const auto self = shared_from_this();
    auto asked = call(text_->withdraw);
    asked.add_bytes(given_up.key).add_bytes(given_up.id);
    asked.add_or_null(given_up.occurrence ? std::optional{number(*given_up.occurrence)}
                                          : std::nullopt);
    auto asking = ask_for_flag(std::move(asked));
    co_return co_await std::move(asking);
}

async<std::vector<renewal>> postgresql_store::renew(std::span<const held_lease> leases) {
    const auto self = shared_from_this();
    for (const auto& lease : leases)
        if (auto rejected = rules::reject_long_ttl(settings_->common.quarantine, lease.ttl))
            co_return std::move(*rejected);
    auto renewing = net::renew_in_batches(
        leases, renew_batch_max, place_of(settings_->servers),
        [this](std::span<const held_lease> batch, std::vector<renewal>& answers) {
            return renew_batch(batch, answers);
        });
    co_return co_await std::move(renewing);
}

async<bool> postgresql_store::renew_batch(std::span<const held_lease> leases,
                                          std::vector<renewal>& answers) {
    std::vector<std::string_view> keys;
    std::vector<std::int64_t> tokens, ttls, lifetimes;
    std::vector<bool> may_lapse;
    for (const auto& lease : leases) {
        keys.push_back(lease.key);
        tokens.push_back(signed_number(lease.token));
        ttls.push_back(lease.ttl.count());
        lifetimes.push_back(lease.max_lifetime.count());
        may_lapse.push_back(lease.if_expired == expired_renewal::extend_if_unclaimed);
    }
    auto asked = call(text_->renew);
    asked.add(keys).add(tokens).add(ttls).add(lifetimes).add_flags(may_lapse);
    asked.add(std::max<std::int64_t>(settings_->common.timeout.count() / lock_timeout_part, 1));
    auto asking = pool::ask_either(renewals_, pool_, std::move(asked));
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->count() != 1 || got->columns() != 2) co_return unexpected("renew_v2");
    const auto first = answers.size();
    answers.resize(first + leases.size(), renewal::lost);
    const auto note = [&](int column, renewal what) {
        for (const auto place : got->integers(0, column))
            if (place >= 1 && place <= static_cast<std::int64_t>(leases.size()))
                answers[first + static_cast<std::size_t>(place) - 1] = what;
    };
    note(0, renewal::renewed);
    note(1, renewal::unknown);
    co_return true;
}

async<bool> postgresql_store::release(std::string key, fence_token token, release_options how) {
    const auto self = shared_from_this();
    if (how.min_hold == millis{0} && !how.done && writes_itself()) {
        auto asked = call(text_->release_held);
        asked.add_bytes(key).add(signed_number(token)).add_text(listener_->channel());
        auto asking = pool_->ask(std::move(asked));
        const auto got = co_await std::move(asking);
        const auto done = read_written(got);
        if (done == written::failed) co_return got.error();
        if (done == written::row) co_return true;
        const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
        if (cancellation.cancelled() != boost::asio::cancellation_type::none) co_return given_up();
    }
    auto asked = call(text_->release);
    asked.add_bytes(key).add(signed_number(token));
    asked.add_or_null(how.min_hold == release_options::until_expiry
                          ? std::nullopt
                          : std::optional<std::int64_t>{how.min_hold.count()});
    asked.add_or_null(how.done ? std::optional{number(*how.done)} : std::nullopt);
    auto asking = ask_for_flag(std::move(asked));
    co_return co_await std::move(asking);
}

async<bool> postgresql_store::force_release(std::string key, fence_token token, millis delay) {
    const auto self = shared_from_this();
    auto asked = call(text_->force_release);
    asked.add_bytes(key)
        .add(signed_number(token))
        .add(std::int64_t{std::min(delay, ttl_max).count()});
    auto asking = ask_for_flag(std::move(asked));
    co_return co_await std::move(asking);
}

async<std::optional<record>> postgresql_store::inspect(std::string key) {
    const auto self = shared_from_this();
    auto asked = call(text_->inspect);
    asked.add_bytes(key);
    auto asking = pool_->ask(std::move(asked));
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->columns() != 7) co_return unexpected("inspect_v1");
    if (got->count() == 0) co_return std::optional<record>{};
    co_return std::optional<record>{record_in(*got, 0)};
}

async<std::vector<std::optional<record>>> postgresql_store::inspect_many(
    std::vector<std::string> keys) {
    const auto self = shared_from_this();
    base::ensure(keys.size() <= page_limit_max);
    auto asked = call(text_->inspect_many);
    asked.add(std::vector<std::string_view>(keys.begin(), keys.end()));
    auto asking = pool_->ask(std::move(asked));
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->columns() != 7) co_return unexpected("inspect_v1");
    std::unordered_map<std::string, record> found;
    for (int i = 0; i < got->count(); ++i) {
        auto one = record_in(*got, i);
        auto key = one.key;
        found.insert_or_assign(std::move(key), std::move(one));
    }
    std::vector<std::optional<record>> all;
    for (const auto& key : keys) {
        const auto its = found.find(key);
        all.push_back(its == found.end() ? std::nullopt : std::optional{its->second});
    }
    co_return all;
}

async<page> postgresql_store::list(std::string prefix, std::string after, std::size_t limit) {
    const auto self = shared_from_this();
    base::ensure(limit >= 1 && limit <= page_limit_max);
    const auto end = base::end_of_prefix(prefix);
    auto asked = call(text_->list);
    asked.add_bytes(prefix).add_bytes_or_null(end);
    asked.add_bytes_or_null(after.empty() ? std::nullopt : std::optional{after});
    // One more than asked for tells whether there is another page.
    asked.add_count(static_cast<std::int32_t>(limit + 1));
    auto asking = pool_->ask(std::move(asked));
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->columns() != 7) co_return unexpected("list_v1");
    page found;
    const auto there = static_cast<std::size_t>(got->count());
    for (std::size_t i = 0; i < std::min(limit, there); ++i)
        found.records.push_back(record_in(*got, static_cast<int>(i)));
    if (there > limit) found.next = found.records.back().key;
    co_return found;
}

// ---- Waiting

async<bool> postgresql_store::still_held(const std::string& key, fence_token seen) {
    auto asked = call(text_->watch);
    asked.add_bytes(key).add(signed_number(seen));
    auto asking = ask_for_flag(std::move(asked));
    co_return co_await std::move(asking);
}

// A verb never throws, but awaiting anything in a cancelled coroutine does: look before each.
async<void> postgresql_store::wait_change(std::string key, fence_token seen) {
    const auto self = shared_from_this();
    const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
    const auto given_up = [&] {
        return cancellation.cancelled() != boost::asio::cancellation_type::none;
    };
    if (given_up()) co_return result<void>{};
    if (listener_->is_deaf()) {
        auto waiting = wait_in_silence(std::move(key), seen);
        co_return co_await std::move(waiting);
    }
    watcher waiting{listener_, key};
    auto confirming = waiting.confirmed();
    const auto confirmed = co_await std::move(confirming);
    // A caller that gave up expects no answer, and no trouble either.
    if (given_up()) co_return result<void>{};
    if (confirmed.has_error()) co_return confirmed.error();
    // What changed before we listened was never announced to us.
    auto looking = still_held(key, seen);
    const auto unchanged = co_await std::move(looking);
    if (given_up()) co_return result<void>{};
    if (unchanged.has_error()) co_return unchanged.error();
    if (!*unchanged) co_return result<void>{};
    auto ringing = waiting.notified();
    co_return co_await std::move(ringing);
}

async<void> postgresql_store::wait_in_silence(std::string key, fence_token seen) {
    auto looking = still_held(key, seen);
    const auto unchanged = co_await std::move(looking);
    const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != boost::asio::cancellation_type::none) co_return result<void>{};
    if (unchanged.has_error()) co_return unchanged.error();
    if (!*unchanged) co_return result<void>{};
    auto pause = net::sleep_for(silent_wait_max);
    co_await std::move(pause);
    co_return result<void>{};
}

async<fence_result> postgresql_store::fence(std::string resource, fence_token token,
                                            fence_rule rule) {
    const auto self = shared_from_this();
    auto asked = call(text_->fence);
    asked.add_bytes(resource).add(signed_number(token));
    asked.add_flag(rule == fence_rule::reject_not_newer);
    asked.add_flag(settings_->common.quarantine.has_value());
    asked.add(std::int64_t{settings_->common.max_skew.count()});
    auto asking = pool_->ask(std::move(asked));
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->count() != 1 || got->columns() != 3) co_return unexpected("bounded_fence_v1");
    co_return fence_result{got->flag(0, 0), token_of(got->integer(0, 1)), got->flag(0, 2)};
}

async<examination> postgresql_store::examine() {
    const auto self = shared_from_this();
    auto examining = postgresql::examine(settings_, pool_, listener_);
    co_return co_await std::move(examining);
}

// ---- Forgetting

void postgresql_store::purge_now_and_then() {
    const auto now = lease_clock::now();
    if (purging_ || now < purge_next_) return;
    purging_ = true;
    purge_next_ = now + std::min(purge_pause_max, settings_->common.retention);
    boost::asio::co_spawn(executor_, purge(shared_from_this()), boost::asio::detached);
}

// Detached: no caller waits for it, and the next one makes up for one that failed.
boost::asio::awaitable<void> postgresql_store::purge(std::shared_ptr<postgresql_store> self) {
    auto asked = self->call(self->text_->purge);
    asked.add_bytes(self->purged_to_);
    asked.add(std::int64_t{rules::kept_for(self->settings_->common.retention).count()});
    asked.add_count(purge_batch_max);
    auto asking = self->pool_->ask(std::move(asked));
    const auto got = co_await std::move(asking);
    self->purging_ = false;
    if (got.has_error()) co_return;
    self->purged_to_.clear();
    if (got->count() == 1 && !got->is_null(0, 0)) self->purged_to_ = got->bytes(0, 0);
}

}  // namespace

std::shared_ptr<lease_store> make_postgresql_store(net::loop& where, postgresql_settings settings) {
    base::ensure(!base::name_space_fault(settings.common.name_space));
    return std::make_shared<postgresql_store>(where, std::move(settings));
}

const std::vector<std::string>& known_keywords() {
    static const std::vector<std::string> known = [] {
        std::vector<std::string> names;
        const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> all{PQconndefaults(),
                                                                                 PQconninfoFree};
        for (const auto* one = all.get(); one != nullptr && one->keyword != nullptr; ++one)
            names.emplace_back(one->keyword);
        return names;
    }();
    return known;
}

}  // namespace pawl::postgresql
