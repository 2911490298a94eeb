#include "engines/mysql/store/mysql_store.hpp"

#include "base/ensure.hpp"
#include "base/hex.hpp"
#include "base/prefix.hpp"
#include "base/text.hpp"
#include "engines/mysql/client/pool.hpp"
#include "engines/mysql/client/skip_locked.hpp"
#include "engines/mysql/store/examination.hpp"
#include "engines/mysql/store/key_poller.hpp"
#include "engines/mysql/store/statements.hpp"
#include "engines/rules/store/retention.hpp"
#include "net/event.hpp"
#include "net/timer.hpp"

#include <pawl/spi/rules.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

namespace pawl::mysql {
namespace {

using boost::asio::awaitable;
using rules::micros;

// Leases renewed by one statement: their rows stay locked for about 2 ms.
constexpr std::size_t renew_batch_max = 256;
constexpr std::size_t keys_per_look = 256;
// A rejection is read after the fact, when the key may have become free: then it is claimed again.
constexpr int claims_max = 8;
constexpr std::uint64_t grants_per_sweep = 64;
constexpr std::size_t records_per_sweep = 128;

std::string text_of(fence_token token) { return std::to_string(number(token)); }

// Of what a caller may give, farther than any clock: the sum with one must not overflow.
std::int64_t micros_of(millis duration) {
    constexpr millis farthest{4'000'000'000'000};
    return micros{std::clamp(duration, -farthest, farthest)}.count();
}

std::string micros_text(millis duration) { return std::to_string(micros_of(duration)); }

std::string micros_text(occurrence due) { return micros_text(millis{number(due)}); }

// What is beyond the server's numbers was never issued, and is no row's then either.
std::int64_t signed_number(fence_token token) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(std::min(number(token), static_cast<std::uint64_t>(most)));
}

fence_token token_of(std::int64_t value) { return fence_token{static_cast<std::uint64_t>(value)}; }

// The columns holder, claim_id, owner, acquired, until_at, last_token, last_done from `first` on.
rules::lease_record state_from(const answer& row, unsigned first) {
    rules::lease_record state;
    state.holder = token_of(row.integer(first));
    state.claim_id = row.text(first + 1);
    state.owner = row.text(first + 2);
    state.acquired = state.acquired_wall = micros{row.integer(first + 3)};
    state.until = micros{row.integer(first + 4)};
    state.last_token = token_of(row.integer(first + 5));
    if (!row.is_null(first + 6)) state.last_done = occurrence{row.integer(first + 6)};
    return state;
}

rules::store_time time_of(std::int64_t now) { return {micros{now}, micros{now}}; }

std::string joined(const std::vector<std::string>& texts) {
    std::string all;
    for (const auto& each : texts) all += (all.empty() ? "" : ",") + each;
    return all;
}

// Leases with the same terms, which one statement renews.
struct terms {
    explicit terms(const held_lease& lease)
        : ttl{lease.ttl},
          max_lifetime{lease.max_lifetime},
          extends{lease.if_expired == expired_renewal::extend_if_unclaimed} {}
    auto operator<=>(const terms&) const = default;

    millis ttl, max_lifetime;
    bool extends;
};

std::shared_ptr<const mysql_settings> for_renewals(mysql_settings settings) {
    settings.connections_max = 1;
    settings.connections_min = 0;
    return std::make_shared<const mysql_settings>(std::move(settings));
}

class mysql_store : public lease_store, public std::enable_shared_from_this<mysql_store> {
public:
    mysql_store(net::loop& where, mysql_settings settings)
        : loop_{where},
          settings_{std::make_shared<const mysql_settings>(std::move(settings))},
          place_{place_of(*settings_)},
          space_{literal(settings_->common.name_space)},
          pool_{pool::make(where, settings_, lease_tables())},
          renewals_{pool::make(where, for_renewals(*settings_), lease_tables())} {}

    ~mysql_store() override {
        pool_->close_from_anywhere();
        renewals_->close_from_anywhere();
    }

    store_traits traits() const noexcept override {
        return {.strict_fencing = settings_->common.quarantine.has_value(),
                .notifies = true,
                .atomic_batch = false};
    }

#include "engines/rules/store/verbs.inc"
    async<std::vector<std::optional<record>>> inspect_many(std::vector<std::string> keys) override;

private:
    prepared_call record_call(const claim& wanted, const std::string& id_mark) const;
    std::string claim_text(const claim& wanted, const std::string& mark) const;
    std::string acquire_occurrence_text(const claim& wanted, const std::string& mark) const;
    async<acquire_result<grant>> explain_rejected(const claim& wanted, const std::string& mark);
    result<acquire_result<grant>> read_rejection(const claim& wanted, const answer& row) const;
    async<bool> renew_batch(std::span<const held_lease> leases, std::span<const std::size_t> which,
                            std::vector<renewal>& answers);
    async<response> ask_to_renew(std::string text);
    void count_grant();
    static awaitable<void> sweep(std::shared_ptr<mysql_store> self);
    static awaitable<void> look(std::shared_ptr<mysql_store> self);
    awaitable<void> look_once();

    failure unexpected(std::string_view what) const {
        return {errc::protocol, place_ + ": an unexpected answer to " + std::string{what}};
    }
    failure given_up() const {
        return {errc::outcome_unknown, place_ + ": cancelled by the caller"};
    }
    failure no_marker() const {
        return {
            errc::rejected,
            place_ + ": pawl_marker has no row: the tables were emptied by hand; drop them all"};
    }

    // Constant after construction
    net::loop& loop_;
    const std::shared_ptr<const mysql_settings> settings_;
    const std::string place_, space_;
    const std::shared_ptr<pool> pool_;
    const std::shared_ptr<pool> renewals_;  // for when all of the other are busy

    // On the loop only
    key_poller watched_;
    bool looking_ = false;
    net::event look_now_;  // ends the pause between two looks
    std::uint64_t grants_ = 0;
    bool sweeping_ = false;
    std::string sweep_from_;
};

// ---- Claims

// Without a quarantine: with one, a key that has a record may have lost newer ones.
prepared_call mysql_store::record_call(const claim& wanted, const std::string& id_mark) const {
    const auto& all = statements::all();
    prepared_call made{&all.acquire_free,
                       {{"space", settings_->common.name_space},
                        {"key", wanted.key},
                        {"id", wanted.id},
                        {"owner", wanted.owner},
                        {"ttl_us", micros_of(wanted.ttl)},
                        {"mark", id_mark}}};
    if (!wanted.occurrence) return made;
    const bool marks = wanted.delivery == delivery::at_most_once;
    made.of = marks ? &all.acquire_due_once : &all.acquire_due;
    const auto due = number(*wanted.occurrence);
    made.values.emplace_back("due_ms", due);
    made.values.emplace_back("due_us", micros_of(millis{due}));
    made.values.emplace_back("skew_us", micros_of(settings_->common.max_skew));
    return made;
}

std::string mysql_store::claim_text(const claim& wanted, const std::string& mark) const {
    if (wanted.occurrence || settings_->common.quarantine)
        return acquire_occurrence_text(wanted, mark);
    return statements::all().acquire.with({{"space", space_},
                                           {"key", literal(wanted.key)},
                                           {"id", literal(wanted.id)},
                                           {"owner", literal(wanted.owner)},
                                           {"ttl_us", micros_text(wanted.ttl)},
                                           {"mark", mark}});
}

std::string mysql_store::acquire_occurrence_text(const claim& wanted,
                                                 const std::string& mark) const {
    const auto& common = settings_->common;
    const auto due = wanted.occurrence ? std::to_string(number(*wanted.occurrence)) : "NULL";
    const bool marks = wanted.occurrence && wanted.delivery == delivery::at_most_once;
    return statements::all().acquire_occurrence.with(
        {{"space", space_},
         {"key", literal(wanted.key)},
         {"id", literal(wanted.id)},
         {"owner", literal(wanted.owner)},
         {"ttl_us", micros_text(wanted.ttl)},
         {"mark", mark},
         {"due", due},
         {"done", marks ? due : "NULL"},
         {"due_us", wanted.occurrence ? micros_text(*wanted.occurrence) : "NULL"},
         {"skew_us", micros_text(common.max_skew)},
         {"skew_ms", std::to_string(common.max_skew.count())},
         {"quarantine_us", common.quarantine ? micros_text(*common.quarantine) : "NULL"}});
}

async<acquire_result<grant>> mysql_store::acquire(claim wanted) {
    const auto self = shared_from_this();
    if (auto rejected = rules::reject_long_ttl(settings_->common.quarantine, wanted.ttl))
        co_return std::move(*rejected);
    const auto id_mark = "," + base::to_hex(wanted.id) + ",", mark = "'" + id_mark + "'";
    bool whole = settings_->common.quarantine.has_value();
    for (int times = 0;; ++times) {
        // What has no record, or is this claim's already, takes the whole statement.
        auto asking = whole ? pool_->ask(claim_text(wanted, mark), when_locked::ask_again,
                                         wanted.on_store_down)
                            : pool_->ask(record_call(wanted, id_mark), wanted.on_store_down);
        const auto got = co_await std::move(asking);
        if (got.has_error()) co_return got.error();
        if (got->answers.size() != 1) co_return unexpected("a claim");
        if (got->answers[0].affected > 0) {
            count_grant();
            const fence_token token{got->answers[0].insert_id};
            co_return acquire_result<grant>{grant{wanted.key, token, wanted.ttl}};
        }
        auto cancellation = co_await boost::asio::this_coro::cancellation_state;
        if (cancellation.cancelled() != boost::asio::cancellation_type::none) co_return given_up();
        auto why = co_await explain_rejected(wanted, mark);
        if (why.has_error()) co_return why.error();
        const auto* mine = std::get_if<grant>(&*why);
        if (mine == nullptr || (whole && number(mine->token) != 0)) co_return why;
        whole = true;
        if (times == claims_max)
            co_return acquire_result<grant>{busy{fence_token{}, {}, millis{1}, busy_reason::held}};
        cancellation = co_await boost::asio::this_coro::cancellation_state;
        if (cancellation.cancelled() != boost::asio::cancellation_type::none) co_return given_up();
    }
}

// A grant with token 0 where the key has become free in the meantime.
async<acquire_result<grant>> mysql_store::explain_rejected(const claim& wanted,
                                                           const std::string& mark) {
    auto text = statements::all().rejection.with(
        {{"space", space_}, {"key", literal(wanted.key)}, {"mark", mark}});
    auto got = co_await pool_->ask(std::move(text));
    if (got.has_error()) co_return got.error();
    if (got->answers.size() != 1 || !got->answers[0].next()) co_return no_marker();
    co_return read_rejection(wanted, got->answers[0]);
}

result<acquire_result<grant>> mysql_store::read_rejection(const claim& wanted,
                                                          const answer& row) const {
    const auto& common = settings_->common;
    const auto now = time_of(row.integer(0));
    if (auto waits = rules::reject_in_quarantine(common.quarantine, time_of(row.integer(1)), wanted,
                                                 now, common.max_skew))
        return std::move(*waits);
    rules::lease_record state;
    if (!row.is_null(2)) state = state_from(row, 2);
    const bool mine = state.held(now) && state.claim_id == wanted.id;
    const auto holder = state.holder;
    const bool was_withdrawn = row.integer(9) != 0;
    if (was_withdrawn && !state.live(now))
        return acquire_result<grant>{
            busy{fence_token{}, state.owner, millis{1}, busy_reason::cooldown}};
    auto judged = rules::acquire(state, wanted, now, common.max_skew);
    if (!std::holds_alternative<grant>(judged)) return judged;
    // Repeated without anything to change, or free since.
    return acquire_result<grant>{grant{wanted.key, mine ? holder : fence_token{}, wanted.ttl}};
}

async<bool> mysql_store::withdraw(withdrawal given_up) {
    const auto self = shared_from_this();
    const auto& [key, id, occurrence] = given_up;
    if (id.empty()) co_return false;
    const auto hex = base::to_hex(id);
    const auto due = occurrence ? std::to_string(number(*occurrence)) : std::string{"NULL"};
    auto text = statements::all().withdraw.with({{"space", space_},
                                                 {"key", literal(key)},
                                                 {"id", literal(id)},
                                                 {"mark", "'," + hex + ",'"},
                                                 {"entry", "'," + hex + "'"},
                                                 {"due", due}});
    const auto got = co_await pool_->ask(std::move(text));
    if (got.has_error()) co_return got.error();
    if (got->answers.size() != 1) co_return unexpected("a withdrawal");
    co_return got->answers[0].affected > 0 && got->answers[0].insert_id == 1;
}

// ---- Leases

async<std::vector<renewal>> mysql_store::renew(std::span<const held_lease> leases) {
    const auto self = shared_from_this();
    for (const auto& lease : leases)
        if (auto rejected = rules::reject_long_ttl(settings_->common.quarantine, lease.ttl))
            co_return std::move(*rejected);
    std::vector<renewal> answers(leases.size(), renewal::lost);
    std::map<terms, places> of_terms;
    for (std::size_t i = 0; i < leases.size(); ++i)
        if (number(leases[i].token) != 0) of_terms[terms{leases[i]}].push_back(i);
    std::vector<places> alike;
    for (auto& [unused, all] : of_terms) alike.push_back(std::move(all));
    // A key stands in the text three times, in hexadecimal.
    constexpr std::size_t bytes_per_key = 3 * (2 * key_bytes_max + 8);
    const auto fitting = std::max<std::size_t>(1, pool_->facts().packet_max / bytes_per_key / 2);
    auto renewing = change_skipping_locked(
        std::move(alike), std::min(renew_batch_max, fitting), settings_->common.timeout, given_up(),
        [&](std::span<const std::size_t> part) { return renew_batch(leases, part, answers); });
    const auto locked = co_await std::move(renewing);
    if (locked.has_error()) co_return locked.error();
    for (const auto i : *locked) answers[i] = renewal::unknown;
    co_return answers;
}

// A connection that is free serves at once. Others may wait for rows that another session keeps
// locked, for as long as the timeout; then there is one for renewals alone.
async<response> mysql_store::ask_to_renew(std::string text) {
    if (pool_->is_free()) {
        auto asking = pool_->ask(std::move(text), when_locked::tell);
        co_return co_await std::move(asking);
    }
    const auto asked = lease_clock::now();
    auto asking = renewals_->ask(text, when_locked::tell, store_down::fail);
    auto got = co_await std::move(asking);
    // A server may have no room for one connection more, and go on with those it has.
    const bool never_sent =
        got.has_error() && got.error().code != errc::outcome_unknown && !renewals_->stands();
    if (!never_sent || lease_clock::now() - asked > settings_->common.timeout / 2) co_return got;
    const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != boost::asio::cancellation_type::none) co_return given_up();
    auto again = pool_->ask(std::move(text), when_locked::tell);
    co_return co_await std::move(again);
}

// False, and nothing has changed, where another session keeps one of the rows locked.
async<bool> mysql_store::renew_batch(std::span<const held_lease> leases,
                                     std::span<const std::size_t> which,
                                     std::vector<renewal>& answers) {
    std::string keys, pairs;
    for (const auto i : which) {
        const auto key = literal(leases[i].key);
        keys += (keys.empty() ? "" : ",") + key;
        pairs += (pairs.empty() ? "(" : ",(") + key + "," + text_of(leases[i].token) + ")";
    }
    const terms same{leases[which.front()]};
    auto until = "@pawl_now + " + micros_text(same.ttl);
    if (same.max_lifetime.count() > 0)
        until = "LEAST(" + until + ", acquired + " + micros_text(same.max_lifetime) + ")";
    auto text = statements::all().renew.with({{"space", space_},
                                              {"keys", keys},
                                              {"pairs", pairs},
                                              {"until", until},
                                              {"extend", same.extends ? "1" : "0"}});
    auto asking = ask_to_renew(std::move(text));
    auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->locked) co_return false;
    if (got->answers.size() != 5) co_return unexpected("a renewal");
    // The rules once more, on the rows as the statement found them.
    std::map<std::string, fence_token, std::less<>> renewed;
    auto& rows = got->answers[2];
    while (rows.next()) {
        const auto now = rows.integer(0), until_at = rows.integer(4);
        auto wanted = now + micros{same.ttl}.count();
        if (same.max_lifetime.count() > 0)
            wanted = std::min(wanted, rows.integer(3) + micros{same.max_lifetime}.count());
        if (wanted > now && (same.extends || until_at > now))
            renewed.emplace(rows.text(1), token_of(rows.integer(2)));
    }
    for (const auto i : which) {
        const auto found = renewed.find(leases[i].key);
        if (found != renewed.end() && found->second == leases[i].token)
            answers[i] = renewal::renewed;
    }
    co_return true;
}

async<bool> mysql_store::release(std::string key, fence_token token, release_options how) {
    const auto self = shared_from_this();
    if (number(token) == 0) co_return false;
    if (how.min_hold == millis{0} && !how.done) {
        auto asking = pool_->ask({&statements::all().release_now,
                                  {{"space", settings_->common.name_space},
                                   {"key", key},
                                   {"token", signed_number(token)}}});
        const auto got = co_await std::move(asking);
        if (got.has_error()) co_return got.error();
        if (got->answers.size() != 1) co_return unexpected("a release");
        co_return got->answers[0].insert_id == 1;
    }
    std::string until{server_clock};
    if (how.min_hold == release_options::until_expiry)
        until = "until_at";
    else if (how.min_hold.count() > 0)
        until = "GREATEST(" + until + ", acquired + " + micros_text(how.min_hold) + ")";
    const auto done = how.done ? std::to_string(number(*how.done)) : std::string{};
    auto text = how.done ? statements::all().release_done.with({{"space", space_},
                                                                {"key", literal(key)},
                                                                {"token", text_of(token)},
                                                                {"until", until},
                                                                {"done", done}})
                         : statements::all().release.with({{"space", space_},
                                                           {"key", literal(key)},
                                                           {"token", text_of(token)},
                                                           {"until", until}});
    const auto got = co_await pool_->ask(std::move(text));
    if (got.has_error()) co_return got.error();
    if (got->answers.size() != 1) co_return unexpected("a release");
    co_return got->answers[0].insert_id == 1;
}

async<bool> mysql_store::force_release(std::string key, fence_token token, millis delay) {
    const auto self = shared_from_this();
    if (number(token) == 0) co_return false;
    auto text =
        statements::all().force_release.with({{"space", space_},
                                              {"key", literal(key)},
                                              {"token", text_of(token)},
                                              {"delay_us", micros_text(std::min(delay, ttl_max))}});
    const auto got = co_await pool_->ask(std::move(text));
    if (got.has_error()) co_return got.error();
    if (got->answers.size() != 4) co_return unexpected("a forced release");
    co_return got->answers[2].affected == 1;
}

async<fence_result> mysql_store::fence(std::string resource, fence_token token, fence_rule rule) {
    const auto self = shared_from_this();
    const auto& common = settings_->common;
    const auto name = literal(resource);
    auto text = statements::all().fence.with({{"space", space_},
                                              {"resource", name},
                                              {"token", text_of(token)},
                                              {"skew_us", micros_text(common.max_skew)},
                                              {"quarantined", common.quarantine ? "1" : "0"}});
    const auto got = co_await pool_->ask(std::move(text));
    if (got.has_error()) co_return got.error();
    if (got->answers.size() != 1) co_return unexpected("a fence");
    const auto& told = got->answers[0];
    const fence_token newest{told.insert_id};
    if (told.affected > 0 || number(newest) != 0)
        co_return fence_result{rule == fence_rule::reject_older
                                   ? token == newest
                                   : told.affected > 0 && number(token) != 0,
                               newest};
    auto why = statements::all().fence_rejection.with({{"space", space_}, {"resource", name}});
    auto looked = co_await pool_->ask(std::move(why));
    if (looked.has_error()) co_return looked.error();
    if (looked->answers.size() != 1 || !looked->answers[0].next()) co_return no_marker();
    const auto& row = looked->answers[0];
    auto known = row.is_null(2) ? fence_token{} : token_of(row.integer(2));
    const auto issued = rules::issued_tokens(common.quarantine, micros{row.integer(1)},
                                             micros{row.integer(0)}, common.max_skew);
    co_return rules::check_fence(known, token, rule, issued);
}

// ---- Records

async<std::optional<record>> mysql_store::inspect(std::string key) {
    const auto self = shared_from_this();
    auto text = statements::all().list.with(
        {{"space", space_}, {"conditions", "lock_key = " + literal(key)}, {"limit", "1"}});
    auto got = co_await pool_->ask(std::move(text));
    if (got.has_error()) co_return got.error();
    if (got->answers.size() != 1) co_return unexpected("a look at a key");
    auto& row = got->answers[0];
    if (!row.next()) co_return std::optional<record>{};
    co_return std::optional{rules::describe(key, state_from(row, 2), time_of(row.integer(0)))};
}

async<std::vector<std::optional<record>>> mysql_store::inspect_many(std::vector<std::string> keys) {
    const auto self = shared_from_this();
    base::ensure(keys.size() <= page_limit_max);
    std::vector<std::optional<record>> all(keys.size());
    if (keys.empty()) co_return all;
    std::vector<std::string> literals;
    literals.reserve(keys.size());
    for (const auto& key : keys) literals.push_back(literal(key));
    auto text =
        statements::all().list.with({{"space", space_},
                                     {"conditions", "lock_key IN (" + joined(literals) + ")"},
                                     {"limit", std::to_string(keys.size())}});
    auto got = co_await pool_->ask(std::move(text));
    if (got.has_error()) co_return got.error();
    if (got->answers.size() != 1) co_return unexpected("a look at keys");
    std::unordered_map<std::string, record> found;
    auto& row = got->answers[0];
    while (row.next()) {
        std::string key{row.text(1)};
        auto one = rules::describe(key, state_from(row, 2), time_of(row.integer(0)));
        found.insert_or_assign(std::move(key), std::move(one));
    }
    for (std::size_t i = 0; i < keys.size(); ++i)
        if (const auto its = found.find(keys[i]); its != found.end()) all[i] = its->second;
    co_return all;
}

async<page> mysql_store::list(std::string prefix, std::string after, std::size_t limit) {
    const auto self = shared_from_this();
    base::ensure(limit >= 1 && limit <= page_limit_max);
    const bool within = !after.empty() && after >= prefix;
    auto conditions = within ? "lock_key > " + literal(after) : "lock_key >= " + literal(prefix);
    if (const auto end = base::end_of_prefix(prefix))
        conditions += " AND lock_key < " + literal(*end);
    // One more than asked for tells whether there is another page.
    auto text = statements::all().list.with(
        {{"space", space_}, {"conditions", conditions}, {"limit", std::to_string(limit + 1)}});
    auto got = co_await pool_->ask(std::move(text));
    if (got.has_error()) co_return got.error();
    if (got->answers.size() != 1) co_return unexpected("a list");
    page found;
    auto& row = got->answers[0];
    while (row.next()) {
        if (found.records.size() == limit) {
            found.next = found.records.back().key;
            break;
        }
        found.records.push_back(
            rules::describe(std::string{row.text(1)}, state_from(row, 2), time_of(row.integer(0))));
    }
    co_return found;
}

// ---- Waiting

async<void> mysql_store::wait_change(std::string key, fence_token seen) {
    const auto self = shared_from_this();
    const auto started = co_await boost::asio::this_coro::cancellation_state;
    if (started.cancelled() != boost::asio::cancellation_type::none) co_return result<void>{};
    key_wait mine{std::move(key), seen};
    struct place {
        key_poller& in;
        key_poller::waits::iterator where;
        ~place() { in.remove(where); }
    };
    const place kept{watched_, watched_.add(&mine)};
    look_now_.set();
    if (!looking_) boost::asio::co_spawn(loop_.get_executor(), look(self), boost::asio::detached);
    auto waiting = mine.over.wait();
    co_await std::move(waiting);
    if (mine.fault) co_return std::move(*mine.fault);
    co_return result<void>{};
}

// Runs while anybody waits.
awaitable<void> mysql_store::look(std::shared_ptr<mysql_store> self) {
    if (self->looking_) co_return;
    struct announced {
        mysql_store& store;
        ~announced() { store.looking_ = false; }
    };
    self->looking_ = true;
    const announced until_the_end{*self};
    while (!self->watched_.empty()) {
        self->look_now_.reset();
        co_await self->look_once();
        if (self->watched_.empty()) continue;
        auto pausing = self->look_now_.wait_for(look_pause(self->watched_.age(lease_clock::now())));
        co_await std::move(pausing);
    }
}

awaitable<void> mysql_store::look_once() {
    std::string last;
    for (;;) {
        const auto keys = watched_.round(last, keys_per_look);
        if (keys.empty()) co_return;
        std::vector<std::string> literals;
        literals.reserve(keys.size());
        for (const auto& key : keys) literals.push_back(literal(key));
        auto text = statements::all().held.with({{"space", space_}, {"keys", joined(literals)}});
        auto got = co_await pool_->ask(std::move(text));
        if (got.has_error() || got->answers.size() != 1) {
            watched_.failed(keys, got.has_error() ? got.error() : unexpected("a look"));
        } else {
            std::map<std::string, fence_token> holders;
            auto& row = got->answers[0];
            while (row.next()) holders.emplace(std::string{row.text(0)}, token_of(row.integer(1)));
            watched_.seen(keys, holders);
        }
        last = keys.back();
    }
}

// ---- Retention

void mysql_store::count_grant() {
    if (++grants_ % grants_per_sweep != 0 || sweeping_) return;
    sweeping_ = true;
    boost::asio::co_spawn(loop_.get_executor(), sweep(shared_from_this()), boost::asio::detached);
}

// Looks at some records, and deletes those past their retention. What fails is done the next time.
awaitable<void> mysql_store::sweep(std::shared_ptr<mysql_store> self) {
    struct finished {
        bool& flag;
        ~finished() { flag = false; }
    };
    const finished at_the_end{self->sweeping_};
    const auto retention = micros_text(rules::kept_for(self->settings_->common.retention));
    auto text = statements::all().sweep.with({{"space", self->space_},
                                              {"after", literal(self->sweep_from_)},
                                              {"limit", std::to_string(records_per_sweep)},
                                              {"retention_us", retention}});
    auto got = co_await self->pool_->ask(std::move(text));
    if (got.has_error() || got->answers.size() != 1) co_return;
    std::vector<std::string> old;
    std::size_t count = 0;
    auto& row = got->answers[0];
    while (row.next()) {
        ++count;
        self->sweep_from_ = row.text(0);
        if (row.integer(1) == 1) old.push_back(literal(row.text(0)));
    }
    if (count < records_per_sweep) self->sweep_from_.clear();
    if (old.empty()) co_return;
    auto purge = statements::all().purge.with(
        {{"space", self->space_}, {"keys", joined(old)}, {"retention_us", retention}});
    // Where one is locked none goes, until the next round.
    co_await self->pool_->ask(std::move(purge), when_locked::tell);
}

// ---- Health

async<examination> mysql_store::examine() {
    const auto self = shared_from_this();
    auto text = report_text();
    auto got = co_await pool_->ask(std::move(text));
    if (got.has_error()) co_return got.error();
    co_return read_report(*settings_, pool_->facts(), *got);
}

}  // namespace

std::shared_ptr<lease_store> make_mysql_store(net::loop& where, mysql_settings settings) {
    base::ensure(!base::name_space_fault(settings.common.name_space));
    return std::make_shared<mysql_store>(where, std::move(settings));
}

}  // namespace pawl::mysql
