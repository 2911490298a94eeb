#include "health/lock_debt.hpp"

#include "base/comma_list.hpp"
#include "base/duration.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace pawl::health {
namespace {

using ranked = std::vector<std::pair<std::uint64_t, std::string>>;

// The highest first; ties by key, so that the same store reads the same twice.
ranked highest(ranked all, std::size_t count) {
    std::sort(all.begin(), all.end(), [](const auto& left, const auto& right) {
        return left.first != right.first ? left.first > right.first : left.second < right.second;
    });
    if (all.size() > count) all.resize(count);
    return all;
}

template <class Text>
std::string list_of(const ranked& all, Text text_of) {
    std::string list;
    for (const auto& [rank, key] : all)
        base::add_to_list(list, "'" + base::printable(key) + "' " + text_of(rank));
    return list;
}

bool is_held(const record& one) { return number(one.holder) != 0; }

}  // namespace

void debt_ledger::look(std::vector<record> records) {
    const bool first = !std::exchange(looked_, true);
    for (const auto& one : records) {
        const auto [known, fresh] = tokens_.emplace(one.key, one.last_token);
        if (fresh && first) continue;
        if (!fresh && number(known->second) >= number(one.last_token)) continue;
        known->second = one.last_token;
        ++grants_[one.key];
    }
    latest_ = std::move(records);
}

finding debt_ledger::held_longest(std::int64_t store_now) const {
    ranked held;
    for (const auto& one : latest_)
        if (is_held(one))
            held.emplace_back(std::max<std::int64_t>(store_now - one.acquired_at, 0), one.key);
    const auto count = held.size();
    const auto longest = highest(std::move(held), bounds_.keys_shown);
    auto text = std::to_string(count) + (count == 1 ? " lease is held" : " leases are held") +
                (count < latest_.size() || count == 0
                     ? " of " + std::to_string(latest_.size()) + " known keys"
                     : "");
    if (latest_.size() >= bounds_.records_max) text += ", of the first that were checked";
    if (!longest.empty())
        text += "; longest: " + list_of(longest, [](std::uint64_t age) {
                    return "for " + base::format_duration(
                                        millis{static_cast<millis::rep>(age / 1000 * 1000)});
                });
    const bool debt = !longest.empty() &&
                      static_cast<millis::rep>(longest.front().first) > bounds_.held_warned.count();
    if (debt)
        text += "; longer than " + base::format_duration(bounds_.held_warned) +
                ": the job may hang; see 'pawl locks show', and give jobs a timeout "
                "(max_lifetime)";
    return {debt ? severity::warn : severity::ok, "lock-debt", std::move(text)};
}

finding debt_ledger::waited_for_most() const {
    ranked waited;
    bool counted = false;
    for (const auto& one : latest_) {
        counted = counted || one.waiters.has_value();
        if (one.waiters.value_or(0) > 0) waited.emplace_back(*one.waiters, one.key);
    }
    if (!counted && !latest_.empty())
        return {severity::ok, "lock-debt", "this store does not count waiters"};
    const auto most = highest(std::move(waited), bounds_.keys_shown);
    if (most.empty()) return {severity::ok, "lock-debt", "no key has waiters"};
    auto text =
        "most waiters: " + list_of(most, [](std::uint64_t count) { return std::to_string(count); });
    const bool debt = most.front().first >= bounds_.waiters_warned;
    if (debt)
        text += "; " + std::to_string(bounds_.waiters_warned) +
                " or more on one key: shorten the work under it, or split the key";
    return {debt ? severity::warn : severity::ok, "lock-debt", std::move(text)};
}

finding debt_ledger::turnover(millis watched) const {
    std::uint64_t total = 0;
    ranked busiest;
    for (const auto& [key, grants] : grants_) {
        total += grants;
        busiest.emplace_back(grants, key);
    }
    const auto a_minute = [watched](std::uint64_t grants) {
        const auto span = std::max<millis::rep>(watched.count(), 1);
        return static_cast<std::uint64_t>(static_cast<double>(grants) * 60'000.0 /
                                          static_cast<double>(span));
    };
    auto text = "at least " + std::to_string(a_minute(total)) +
                " tokens per minute, measured over " + base::format_duration(watched);
    const auto most = highest(std::move(busiest), bounds_.keys_shown);
    if (!most.empty())
        text += "; most: " + list_of(most, [&](std::uint64_t grants) {
                    return std::to_string(a_minute(grants)) + " per minute";
                });
    return {severity::ok, "lock-debt", std::move(text)};
}

std::vector<finding> debt_ledger::findings(std::int64_t store_now, millis watched) const {
    return {held_longest(store_now), waited_for_most(), turnover(watched)};
}

}  // namespace pawl::health
