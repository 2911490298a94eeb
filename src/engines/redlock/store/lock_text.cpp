#include "engines/redlock/store/lock_text.hpp"

#include "base/number.hpp"
#include "engines/redis/store/lease_text.hpp"

#include <algorithm>
#include <functional>
#include <vector>

namespace pawl::redlock {
namespace {

using redis::take_number;
using redis::take_word;

bool take_phase(std::string_view& text, node_record::phase& at) {
    const auto word = take_word(text);
    if (word == "-") at = node_record::phase::free;
    if (word == "p") at = node_record::phase::promised;
    if (word == "c") at = node_record::phase::confirmed;
    return word == "-" || word == "p" || word == "c";
}

std::size_t holders_of(observations seen, fence_token token) {
    return static_cast<std::size_t>(std::count_if(
        seen.begin(), seen.end(), [&](const auto& one) { return one && one->holds(token); }));
}

// The token that a majority holds, if there is one.
std::optional<fence_token> held_by_majority(observations seen, std::size_t majority) {
    for (const auto& one : seen)
        if (one && one->at == node_record::phase::confirmed && one->is_live() &&
            holders_of(seen, one->holder) >= majority)
            return one->holder;
    return std::nullopt;
}

// Without a majority in sight: the newest token, if no node says that it is over, and those that
// are missing may hold it.
std::optional<fence_token> held_perhaps(observations seen, fence_token newest, std::size_t nodes,
                                        std::size_t majority) {
    const auto holders = holders_of(seen, newest);
    if (holders == 0 || holders + nodes - seen.size() < majority) return std::nullopt;
    const bool over = std::any_of(seen.begin(), seen.end(), [&](const auto& one) {
        return one && one->last >= newest && !one->holds(newest);
    });
    return over ? std::nullopt : std::optional{newest};
}

// Nodes stamp a round a little apart; what differs by more lacks a renewal.
constexpr millis stamps_apart_max{100};

// Whether nodes that are missing could not say that the lease ends noticeably later: one that has
// answered may be the one that a renewal has yet to reach.
bool end_is_settled(observations seen, fence_token holder, std::size_t missing,
                    std::size_t majority) {
    if (missing >= majority) return false;
    std::vector<millis> times;
    for (const auto& one : seen)
        if (one && one->holds(holder)) times.push_back(one->remaining);
    std::sort(times.begin(), times.end(), std::greater<>{});
    return times[majority - missing - 1] - times[majority - 1] <= stamps_apart_max;
}

}  // namespace

std::optional<node_record> parse_record(std::string_view text, std::int64_t now) {
    std::int64_t version = 0, holder = 0, until = 0, last = 0, acquired = 0;
    node_record seen;
    if (!take_number(text, version) || version != 1) return std::nullopt;
    if (!take_number(text, holder) || !take_number(text, until) || !take_number(text, last) ||
        !take_number(text, acquired) || !take_phase(text, seen.at))
        return std::nullopt;
    take_word(text);  // whether a client waits
    const auto done = take_word(text);
    take_word(text);  // withdrawn ids
    seen.id = take_word(text);
    take_word(text);  // the attempt
    seen.owner = text;
    // Rounded up, so that a waiter does not ask a moment too early.
    seen.remaining = millis{now < until ? (until - now + 999) / 1000 : 0};
    seen.holder = fence_token{static_cast<std::uint64_t>(holder)};
    seen.last = fence_token{static_cast<std::uint64_t>(last)};
    if (const auto last_done = base::leading_number<std::int64_t>(done))
        seen.done = occurrence{*last_done};
    return seen;
}

std::string digits_of(fence_token token) { return base::padded(number(token), 16); }

std::optional<record> merge(const std::string& key, observations seen, std::size_t nodes,
                            std::size_t majority) {
    const node_record* newest = nullptr;
    record all;
    for (const auto& one : seen) {
        if (!one) continue;
        if (one->done && (!all.last_done || *one->done > *all.last_done)) all.last_done = one->done;
        if (number(one->last) != 0 && (newest == nullptr || one->last > newest->last))
            newest = &*one;
    }
    if (newest == nullptr) return std::nullopt;
    all.key = key;
    all.last_token = newest->last;
    all.owner = newest->owner;
    auto held = held_by_majority(seen, majority);
    if (!held) held = held_perhaps(seen, newest->last, nodes, majority);
    std::vector<millis> times;
    for (const auto& one : seen) {
        if (held && one && one->holds(*held)) all.owner = one->owner;
        const bool counts = one && (held ? one->holds(*held) : one->is_live());
        times.push_back(counts ? one->remaining : millis{0});
    }
    // Until fewer than a majority hold it; or, for a free key, until a majority may be free.
    if (held)
        std::sort(times.begin(), times.end(), std::greater<>{});
    else
        std::sort(times.begin(), times.end());
    while (held && times.size() > 1 && times.back().count() == 0) times.pop_back();
    all.remaining = times[std::min(times.size(), majority) - 1];
    all.holder = held.value_or(fence_token{});
    // Tokens are clocks: the same on every node, unlike the instants at which each promised.
    all.acquired_at = static_cast<std::int64_t>(number(held.value_or(newest->last)) / 1000);
    return all;
}

bool is_settled(observations seen, std::size_t nodes, std::size_t majority) {
    if (seen.size() == nodes) return true;
    if (seen.size() < majority) return false;
    if (const auto held = held_by_majority(seen, majority))
        return end_is_settled(seen, *held, nodes - seen.size(), majority);
    // So many hold nothing that those that are missing make no majority.
    for (const auto& one : seen)
        if (one && one->at == node_record::phase::confirmed && one->is_live() &&
            holders_of(seen, one->holder) + nodes - seen.size() >= majority)
            return false;
    return nodes - seen.size() < majority;
}

}  // namespace pawl::redlock
