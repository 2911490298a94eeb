#include "base/ensure.hpp"
#include "engines/etcd/store/etcd_store.hpp"
#include "net/for_each_bounded.hpp"

#include <algorithm>
#include <utility>

namespace pawl::etcd {

namespace {

// Questions of one key, in one transaction.
constexpr std::size_t questions_of_key = 4;

// The lease that a key is kept by, 0 for none.
std::int64_t renewer_of(const snapshot& seen) {
    if (seen.lock) return seen.lock->lease();
    return seen.pause ? seen.pause->lease() : 0;
}

}  // namespace

// All but what is left of it.
result<record> etcd_store::describe(std::string key, const snapshot& seen) const {
    record shown;
    shown.key = std::move(key);
    if (seen.record) {
        const auto last = parse_record(seen.record->value());
        if (!last) return unreadable(names_.record + shown.key);
        shown.owner = last->owner;
        shown.acquired_at = last->acquired;
        shown.last_token = seen.token_of(last->token, seen.record->mod_revision());
    }
    if (seen.done) shown.last_done = parse_done(seen.done->value());
    if (seen.lock) {
        const auto text = parse_lock(seen.lock->value());
        if (!text) return unreadable(names_.lock + shown.key);
        shown.owner = text->owner;
        shown.acquired_at = text->acquired;
        shown.holder = seen.token_of(text->token, seen.lock->create_revision());
        shown.last_token = std::max(shown.last_token, shown.holder);
    }
    return shown;
}

// What is left of each lease; etcd tells it one by one.
struct etcd_store::lasting {
    std::vector<std::int64_t> leases;
    std::vector<millis> left;
    instant deadline{};
};

async<void> etcd_store::add_remaining(std::vector<record>& shown, std::vector<std::int64_t> leases,
                                      instant deadline) {
    const auto todo = std::make_shared<lasting>();
    todo->left.resize(leases.size());
    todo->leases = std::move(leases);
    todo->deadline = deadline;
    net::bounded_step step = [self = shared_from_this(), todo](std::size_t index) {
        return ask_remaining(self, todo, index);
    };
    auto asking =
        net::for_each_bounded(todo->leases.size(), 4 * steps_at_once, std::move(step), deadline);
    const auto asked = co_await std::move(asking);
    if (asked.has_error()) co_return asked.error();
    for (std::size_t i = 0; i < shown.size(); ++i) shown[i].remaining = todo->left[i];
    co_return result<void>{};
}

async<void> etcd_store::ask_remaining(std::shared_ptr<etcd_store> self,
                                      std::shared_ptr<lasting> todo, std::size_t index) {
    if (todo->leases[index] == 0) co_return result<void>{};
    const auto left = co_await self->remaining(todo->leases[index], todo->deadline);
    if (left.has_error()) co_return left.error();
    todo->left[index] = *left;
    co_return result<void>{};
}

async<std::optional<record>> etcd_store::do_inspect(std::string key) {
    const auto self = shared_from_this();
    const auto deadline = client_->deadline();
    const auto seen = co_await look(key, deadline);
    if (seen.has_error()) co_return seen.error();
    if (!seen->lock && !seen->pause && !seen->record && !seen->done)
        co_return std::optional<record>{};
    auto shown = describe(key, *seen);
    if (shown.has_error()) co_return shown.error();
    if (const auto renewer = renewer_of(*seen); renewer != 0) {
        const auto left = co_await remaining(renewer, deadline);
        if (left.has_error()) co_return left.error();
        shown->remaining = *left;
    }
    co_return std::optional<record>{*shown};
}

// One transaction, at one revision.
async<std::vector<snapshot>> etcd_store::look_at(std::span<const std::string> keys,
                                                 instant deadline) {
    transaction all;
    all.get(names_.marker);
    for (const auto& key : keys)
        all.get(names_.lock + key)
            .get(names_.pause + key)
            .get(names_.record + key)
            .get(names_.done + key);
    const auto got = co_await run(all, effect::none, deadline);
    if (got.has_error()) co_return got.error();
    if (static_cast<std::size_t>(got->responses_size()) != keys.size() * questions_of_key + 1)
        co_return unreadable(names_.record);
    std::vector<snapshot> seen(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto its = [&](std::size_t part) {
            return first_of(got->responses(static_cast<int>(i * questions_of_key + part)));
        };
        seen[i].revision = got->header().revision();
        seen[i].marker = marker_of(got->responses(0));
        seen[i].lock = its(1);
        seen[i].pause = its(2);
        seen[i].record = its(3);
        seen[i].done = its(4);
    }
    co_return seen;
}

async<std::vector<std::optional<record>>> etcd_store::do_inspect_many(
    std::vector<std::string> keys) {
    const auto self = shared_from_this();
    const auto deadline = client_->deadline();
    std::vector<std::optional<record>> all(keys.size());
    std::vector<record> shown;
    std::vector<std::size_t> places;
    std::vector<std::int64_t> renewers;
    for (std::size_t from = 0; from < keys.size();) {
        const auto used = look_size_;
        const auto at_once = std::max<std::size_t>(used / questions_of_key, 1);
        const auto many = std::min(at_once, keys.size() - from);
        const auto seen = co_await look_at(std::span{keys}.subspan(from, many), deadline);
        if (seen.has_error() && looks_at_fewer(seen.error(), used)) continue;
        if (seen.has_error()) co_return seen.error();
        for (std::size_t i = 0; i < many; ++i) {
            const auto& one = (*seen)[i];
            if (!one.lock && !one.pause && !one.record && !one.done) continue;
            auto described = describe(keys[from + i], one);
            // One that cannot be read costs the others nothing.
            if (described.has_error()) continue;
            shown.push_back(std::move(*described));
            places.push_back(from + i);
            renewers.push_back(renewer_of(one));
        }
        from += many;
        const auto state = co_await boost::asio::this_coro::cancellation_state;
        if (state.cancelled() != boost::asio::cancellation_type::none)
            co_return failure{errc::unreachable, "cancelled by the caller"};
    }
    const auto added = co_await add_remaining(shown, std::move(renewers), deadline);
    if (added.has_error()) co_return added.error();
    for (std::size_t i = 0; i < shown.size(); ++i) all[places[i]] = std::move(shown[i]);
    co_return all;
}

async<page> etcd_store::do_list(std::string prefix, std::string after, std::size_t limit) {
    const auto self = shared_from_this();
    base::ensure(limit >= 1 && limit <= page_limit_max);
    const auto deadline = client_->deadline();
    page found;
    if (after > prefix && !after.starts_with(prefix)) co_return found;
    const auto from = after >= prefix && !after.empty() ? after + '\0' : prefix;
    const std::string* const places[] = {&names_.lock, &names_.pause, &names_.record, &names_.done};
    transaction look;
    look.get(names_.marker);
    for (const auto* place : places)
        look.get_range(*place + from, end_of_prefix(*place + prefix), limit + 1);
    const auto got = co_await run(look, effect::none, deadline);
    if (got.has_error()) co_return got.error();
    if (got->responses_size() != 5) co_return unreadable(names_.record);
    // Each answer is whole up to its last key, so the first `limit` of them all are.
    std::map<std::string, snapshot> merged;
    std::optional<wire::KeyValue> snapshot::* const parts[] = {&snapshot::lock, &snapshot::pause,
                                                               &snapshot::record, &snapshot::done};
    const auto marker = marker_of(got->responses(0));
    for (int i = 0; i < 4; ++i)
        for (const auto& each : got->responses(i + 1).response_range().kvs()) {
            auto& one = merged[each.key().substr(places[i]->size())];
            one.marker = marker;
            one.*parts[i] = each;
        }
    std::vector<std::int64_t> renewers;
    for (const auto& [key, seen] : merged) {
        if (found.records.size() == limit) {
            found.next = found.records.back().key;
            break;
        }
        auto shown = describe(key, seen);
        found.records.push_back(shown.has_value() ? std::move(*shown) : rules::unreadable(key));
        renewers.push_back(renewer_of(seen));
    }
    const auto added = co_await add_remaining(found.records, std::move(renewers), deadline);
    if (added.has_error()) co_return added.error();
    co_return found;
}

// ---- Waiting

std::optional<std::string> etcd_store::held_at(const snapshot& seen, const std::string& key,
                                               fence_token holder) const {
    if (seen.lock) {
        const auto text = parse_lock(seen.lock->value());
        if (!text || seen.token_of(text->token, seen.lock->create_revision()) != holder)
            return std::nullopt;
        return names_.lock + key;
    }
    if (number(holder) == 0 && seen.pause) return names_.pause + key;
    return std::nullopt;
}

async<void> etcd_store::do_wait(std::string key, fence_token holder) {
    const auto self = shared_from_this();
    for (;;) {
        const auto deadline = client_->deadline();
        const auto seen = co_await look(key, deadline);
        auto cancelled = co_await is_cancelled();
        if (cancelled) co_return result<void>{};
        if (seen.has_error()) co_return seen.error();
        const auto place = held_at(*seen, key, holder);
        if (!place) co_return result<void>{};
        watch mine{watches_, *place, seen->revision + 1};
        const auto placed = co_await mine.placed(deadline);
        cancelled = co_await is_cancelled();
        if (cancelled) co_return result<void>{};
        if (placed.has_error()) co_return placed.error();
        if (*placed > seen->revision) {
            // Something has changed meanwhile, and it may have been this.
            const auto now = co_await look(key, deadline);
            cancelled = co_await is_cancelled();
            if (cancelled) co_return result<void>{};
            if (now.has_error()) co_return now.error();
            if (held_at(*now, key, holder) != place) co_return result<void>{};
        }
        const auto ended = co_await mine.deleted();
        cancelled = co_await is_cancelled();
        if (cancelled) co_return result<void>{};
        if (ended.has_error()) co_return ended.error();
        if (*ended) co_return result<void>{};
    }
}

}  // namespace pawl::etcd
