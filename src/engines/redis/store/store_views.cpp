#include "engines/redis/store/redis_store.hpp"

#include "base/ensure.hpp"
#include "engines/redis/client/error_mapping.hpp"
#include "engines/redis/store/lease_text.hpp"
#include "engines/redis/store/pages.hpp"
#include "engines/redis/store/scripts.hpp"

#include <pawl/spi/rules.hpp>

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace pawl::redis {

async<std::optional<record>> redis_store::look(std::string key) {
    const auto at = spot_of(key);
    script_call call{scripts::all().inspect, 1};
    call.add(at.in.lock, key);
    const auto got = co_await servers_->run(call, at.shard);
    if (got.has_error()) co_return got.error();
    if (got->elements.empty() || !got->elements[0].is_integer()) co_return unexpected("inspect");
    if (got->elements.size() < 2 || !got->elements[1].is_text()) co_return std::optional<record>{};
    auto found = parse_record(key, got->elements[1].text, got->elements[0].number);
    // Not as if there were none: its holder may work on.
    if (found.has_error())
        co_return failure{found.error().code, servers_->place() + ": " + found.error().detail};
    co_return std::move(*found);
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
        // Without the privilege it is unknown, which is no failure.
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

// A script for each shard, and one write for each node. Redis would be asked apart who waits.
async<std::vector<std::optional<record>>> redis_store::inspect_many(std::vector<std::string> keys) {
    const auto self = shared_from_this();
    base::ensure(keys.size() <= page_limit_max);
    std::map<std::size_t, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < keys.size(); ++i) groups[spot_of(keys[i]).shard].push_back(i);
    std::vector<sharded_call> calls;
    for (const auto& [shard, group] : groups) {
        script_call call{scripts::all().inspect_many, group.size()};
        for (const auto which : group) call.add(spot_of(keys[which]).in.lock, keys[which]);
        calls.push_back({std::move(call), shard});
    }
    std::vector<std::optional<record>> all(keys.size());
    if (calls.empty()) co_return all;
    const auto got = co_await servers_->run_all(std::move(calls));
    auto its = got.begin();
    for (const auto& [shard, group] : groups) {
        const auto& told = *its++;
        if (told.has_error()) co_return told.error();
        if (told->is_error()) co_return explain_rejection(servers_->place(), told->text);
        const auto& parts = told->elements;
        if (parts.size() != group.size() + 1 || !parts[0].is_integer())
            co_return unexpected("inspect_many");
        for (std::size_t i = 0; i < group.size(); ++i) {
            const auto& key = keys[group[i]];
            if (!parts[i + 1].is_text()) continue;
            // A caller that has to know why one cannot be read asks for it alone.
            auto one = parse_record(key, parts[i + 1].text, parts[0].number);
            if (one.has_value()) all[group[i]] = std::move(*one);
        }
    }
    co_return all;
}

// `next` is the key behind which there may be more.
result<page> redis_store::read_page(const reply& got) const {
    page found;
    const bool is_list = read_list(got, [&](const auto& key, const auto& packed, auto now_us) {
        auto one = parse_record(key, packed, now_us);
        if (one.has_error())
            found.records.push_back(rules::unreadable(key));
        else if (*one)
            found.records.push_back(std::move(**one));
    });
    if (!is_list) return unexpected("list");
    found.next = place_in_list(got);
    return found;
}

async<page> redis_store::list(std::string prefix, std::string after, std::size_t limit) {
    const auto self = shared_from_this();
    base::ensure(limit >= 1 && limit <= page_limit_max);
    auto listing = servers_->is_cluster() ? list_sharded(prefix, after, limit)
                                          : list_alone(prefix, after, limit);
    auto found = co_await std::move(listing);
    if (found.has_error()) co_return found;
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    if (state.cancelled() != boost::asio::cancellation_type::none) co_return found;
    if (!found->records.empty()) co_await count_waiters(found->records);
    co_return found;
}

// Where many keys are dead it takes several looks. What the time does not suffice for is left to
// the next page.
async<page> redis_store::list_alone(std::string prefix, std::string after, std::size_t limit) {
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    const auto deadline = servers_->deadline_from_now();
    page found;
    found.next = std::move(after);
    do {
        const auto call = list_call(names_.front().index, names_.front().lock, prefix, found.next,
                                    limit - found.records.size());
        const auto got = co_await servers_->run(call, 0);
        if (got.has_error()) co_return got.error();
        auto more = read_page(*got);
        if (more.has_error()) co_return more;
        found.next = std::move(more->next);
        std::move(more->records.begin(), more->records.end(), std::back_inserter(found.records));
    } while (found.records.size() < limit && !found.next.empty() && lease_clock::now() < deadline &&
             state.cancelled() == boost::asio::cancellation_type::none);
    co_return found;
}

// Every shard has its own index in byte order: the pages of all are merged. A shard is asked for a
// little more than its share, and again where that was not enough.
async<page> redis_store::list_sharded(std::string prefix, std::string after, std::size_t limit) {
    const auto portion = limit / cluster_shards * 2 + 7;
    const auto deadline = servers_->deadline_from_now();
    std::vector<page> read(cluster_shards);
    std::vector<std::size_t> hungry;
    for (std::size_t shard = 0; shard < cluster_shards; ++shard) {
        read[shard].next = after;
        hungry.push_back(shard);
    }
    page merged;
    while (!hungry.empty()) {
        std::vector<sharded_call> calls;
        calls.reserve(hungry.size());
        for (const auto shard : hungry)
            calls.push_back({list_call(names_[shard].index, names_[shard].lock, prefix,
                                       read[shard].next, portion),
                             shard});
        const auto got = co_await servers_->run_all(std::move(calls));
        for (std::size_t i = 0; i < hungry.size(); ++i) {
            if (got[i].has_error()) co_return got[i].error();
            if (got[i]->is_error()) co_return explain_rejection(servers_->place(), got[i]->text);
            auto more = read_page(*got[i]);
            if (more.has_error()) co_return more;
            std::reverse(more->records.begin(), more->records.end());
            read[hungry[i]] = std::move(*more);
        }
        hungry.clear();
        const auto state = co_await boost::asio::this_coro::cancellation_state;
        if (state.cancelled() != boost::asio::cancellation_type::none)
            co_return failure{errc::unreachable, servers_->place() + ": cancelled by the caller"};
        if (merge_pages(read, limit, merged) || lease_clock::now() >= deadline) break;
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
    co_return co_await waiting.notified();
}

}  // namespace pawl::redis
