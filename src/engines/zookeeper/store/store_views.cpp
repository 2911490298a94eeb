// What only looks: records, pages, waits; and the guard of resources.
#include "base/ensure.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "engines/zookeeper/store/zookeeper_store.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <unordered_map>

namespace pawl::zookeeper {

std::optional<record> zookeeper_store::describe(const std::string& key, const view& seen,
                                                std::int64_t now) const {
    // A tombstone is no record.
    if (!seen.exists || number(seen.record.last_token) == 0) return std::nullopt;
    return rules::describe(key, state_of(seen, now), rules::store_time{millis{now}, millis{now}});
}

async<std::optional<record>> zookeeper_store::inspect(std::string key) {
    const auto self = shared_from_this();
    const auto until = deadline();
    const auto through = co_await tree_->any_session(until);
    if (through.has_error()) co_return through.error();
    auto seen = co_await tree_->look(**through, key, ensemble::freshness::synced, until);
    if (seen.has_error()) co_return seen.error();
    forget_what_is_over(key, *seen);
    auto now = now_for(*seen);
    if (!seen->alive && seen->record.cooldown_until > 0) {
        const auto read = co_await tree_->read_clock(**through, until);
        // A client that may only read sees it a little less exactly.
        if (read.has_value()) now = *read;
        if (read.has_error() && read.error().code != errc::denied) co_return read.error();
    }
    co_return describe(key, *seen, now);
}

// Two rounds of requests that are sent together, behind a sync as for inspect().
async<std::vector<std::optional<record>>> zookeeper_store::inspect_many(
    std::vector<std::string> keys) {
    const auto self = shared_from_this();
    base::ensure(keys.size() <= page_limit_max);
    const auto until = deadline();
    const auto through = co_await tree_->any_session(until);
    if (through.has_error()) co_return through.error();
    std::vector<request> first;
    first.emplace_back(request::kind::sync, tree_->paths().locks());
    const auto synced = co_await (*through)->ask_all(std::move(first), until);
    if (synced.has_error()) co_return synced.error();
    const auto shown = co_await records_of(**through, keys, until);
    if (shown.has_error()) co_return shown.error();
    std::unordered_map<std::string, record> found;
    for (const auto& one : *shown)
        if (number(one.last_token) != 0) found.insert_or_assign(one.key, one);
    std::vector<std::optional<record>> all(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i)
        if (const auto its = found.find(keys[i]); its != found.end()) all[i] = its->second;
    co_return all;
}

// ---- Pages

async<page> zookeeper_store::list(std::string prefix, std::string after, std::size_t limit) {
    const auto self = shared_from_this();
    base::ensure(limit >= 1 && limit <= page_limit_max);
    const auto until = deadline();
    const auto through = co_await tree_->any_session(until);
    if (through.has_error()) co_return through.error();
    auto keys = co_await keys_of(**through, prefix, after, until);
    if (keys.has_error()) co_return keys.error();
    page found;
    const bool more = keys->size() > limit;
    const auto end = keys->begin() + static_cast<std::ptrdiff_t>(std::min(limit, keys->size()));
    std::partial_sort(keys->begin(), end, keys->end());
    keys->erase(end, keys->end());
    if (more) found.next = keys->back();
    auto records = co_await records_of(**through, std::move(*keys), until);
    if (records.has_error()) co_return records.error();
    found.records = std::move(*records);
    co_return found;
}

// Of all buckets, in no order: the tree keeps no order that spans them.
async<std::vector<std::string>> zookeeper_store::keys_of(session& through,
                                                         const std::string& prefix,
                                                         const std::string& after, instant until) {
    std::vector<request> first;
    first.emplace_back(request::kind::sync, tree_->paths().locks());
    first.emplace_back(request::kind::children, tree_->paths().locks());
    const auto buckets = co_await through.ask_all(std::move(first), until);
    if (buckets.has_error()) co_return buckets.error();
    std::vector<request> asked;
    for (const auto& bucket : buckets->back().names)
        asked.emplace_back(request::kind::children, tree_->paths().locks() + "/" + bucket);
    const auto children = co_await through.ask_all(std::move(asked), until);
    if (children.has_error()) co_return children.error();
    std::vector<std::string> keys;
    for (const auto& bucket : *children)
        for (const auto& name : bucket.names) {
            auto key = decode_name(name);
            if (key && key->starts_with(prefix) && *key > after) keys.push_back(std::move(*key));
        }
    co_return keys;
}

async<std::vector<record>> zookeeper_store::records_of(session& through,
                                                       std::vector<std::string> keys,
                                                       instant until) {
    std::vector<request> asked;
    asked.reserve(keys.size());
    for (const auto& key : keys)
        asked.emplace_back(request::kind::get, tree_->paths().record_of(key));
    const auto texts = co_await through.ask_all(std::move(asked), until);
    if (texts.has_error()) co_return texts.error();
    std::vector<view> seen;
    std::vector<bool> is_unreadable(keys.size());
    std::vector<std::size_t> held;
    std::vector<request> leases;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        auto one = tree_->understand(keys[i], (*texts)[i]);
        // It costs the others nothing.
        is_unreadable[i] = one.has_error();
        seen.push_back(one.has_value() ? std::move(*one) : view{});
        if (seen.back().record.lease.empty()) continue;
        held.push_back(i);
        leases.emplace_back(request::kind::get, tree_->lease_path(keys[i], seen.back()));
    }
    const auto found = co_await through.ask_all(std::move(leases), until);
    if (found.has_error()) co_return found.error();
    for (std::size_t i = 0; i < held.size(); ++i) ensemble::add_lease(seen[held[i]], (*found)[i]);
    const bool any_lingers = std::any_of(
        seen.begin(), seen.end(), [](const view& one) { return one.record.cooldown_until > 0; });
    if (any_lingers && !tree_->has_clock()) {
        const auto read = co_await tree_->read_clock(through, until);
        // As for inspect().
        if (read.has_error() && read.error().code != errc::denied) co_return read.error();
    }
    std::vector<record> records;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (is_unreadable[i]) {
            records.push_back(rules::unreadable(keys[i]));
            continue;
        }
        forget_what_is_over(keys[i], seen[i]);
        if (auto one = describe(keys[i], seen[i], now_for(seen[i])))
            records.push_back(std::move(*one));
    }
    co_return records;
}

// ---- Waiting

// The watch lies on the ephemeral znode, so its holder's session may end as well as its lease. A
// renewal changes it, too: that is looked through here.
async<void> zookeeper_store::wait_change(std::string key, fence_token seen_token) {
    const auto self = shared_from_this();
    const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
    const auto given_up = [&] {
        return cancellation.cancelled() != boost::asio::cancellation_type::none;
    };
    const auto until = deadline();
    const auto through = co_await tree_->any_session(until);
    // A caller that gave up expects no answer, and no trouble either.
    if (given_up()) co_return result<void>{};
    if (through.has_error()) co_return through.error();
    const auto record = tree_->paths().record_of(key);
    for (;;) {
        const bool is_free = number(seen_token) == 0;
        session::watch on_record{*through, record};
        request ask{is_free ? request::kind::get_and_watch : request::kind::get, record};
        const auto read = co_await (*through)->ask(std::move(ask), deadline());
        if (given_up()) co_return result<void>{};
        if (read.has_error()) co_return read.error();
        const auto found = tree_->understand(key, *read);
        if (found.has_error()) co_return found.error();
        const bool is_held = found->exists && !found->record.lease.empty();
        if (is_free) {
            // In cooldown until its time is up: whatever changes that writes the record.
            if (is_held || found->record.cooldown_until == 0) co_return result<void>{};
            co_await on_record.fired();
            co_return result<void>{};
        }
        if (!is_held || found->record.token != seen_token) co_return result<void>{};
        const auto path = tree_->lease_path(key, *found);
        session::watch on_lease{*through, path};
        request look{request::kind::get_and_watch, path};
        const auto lease = co_await (*through)->ask(std::move(look), deadline());
        if (given_up()) co_return result<void>{};
        if (lease.has_error()) co_return lease.error();
        if (!lease->done() || expiries_->has_expired(path)) co_return result<void>{};
        co_await on_lease.fired();
        if (given_up()) co_return result<void>{};
        if (!(*through)->is_connected()) co_return result<void>{};
    }
}

// ---- The guard of resources

// Tokens of a layout before this one may be ahead of the clock.
async<rules::token_range> zookeeper_store::issued_tokens(session& through, instant until) {
    if (!tree_->has_clock()) {
        const auto read = co_await tree_->read_clock(through, until);
        if (read.has_error()) co_return read.error();
    }
    const rules::micros clock{millis{tree_->estimate_clock()}};
    const rules::micros floor{static_cast<std::int64_t>(number(tree_->floor()))};
    const auto& common = settings_->common;
    co_return rules::issued_tokens(common.quarantine, millis{tree_->born()}, std::max(clock, floor),
                                   common.max_skew);
}

async<fence_result> zookeeper_store::fence(std::string resource, fence_token token,
                                           fence_rule rule) {
    const auto self = shared_from_this();
    const auto until = deadline();
    const auto through = co_await tree_->any_session(until);
    if (through.has_error()) co_return through.error();
    const auto issued = co_await issued_tokens(**through, until);
    if (issued.has_error()) co_return issued.error();
    const auto path = tree_->paths().fence_of(resource);
    for (int attempts = 0; attempts == 0 || lease_clock::now() < until; ++attempts) {
        std::vector<request> asked;
        if (attempts > 0) asked.emplace_back(request::kind::sync, path);
        asked.emplace_back(request::kind::get, path);
        const auto answers = co_await (*through)->ask_all(std::move(asked), until);
        if (answers.has_error()) co_return answers.error();
        const auto& read = answers->back();
        const auto value = base::parse_number<std::uint64_t>(read.text);
        if (read.done() && !value)
            co_return failure{errc::rejected, tree_->place() + ": cannot read the fence " +
                                                  base::printable(path) +
                                                  ": another program or a newer pawl wrote it"};
        fence_token newest{value.value_or(0)};
        const auto checked = rules::check_fence(newest, token, rule, *issued);
        // It only rises, so a server that lags behind rejects too little at worst.
        if (!checked.accepted) co_return checked;
        const auto text = std::to_string(number(newest));
        request write = read.done() ? request{request::kind::set, path, text, read.stat.version}
                                    : request{request::kind::create, path, text};
        const auto written = co_await (*through)->ask(std::move(write), until);
        if (written.has_error()) co_return written.error();
        if (written->done()) co_return checked;
        if (written->code != finding_code::no_node || read.done()) continue;
        const auto parent = co_await tree_->make_parent(**through, path, until);
        if (parent.has_error()) co_return parent.error();
    }
    co_return too_slow("the fence");
}

}  // namespace pawl::zookeeper
