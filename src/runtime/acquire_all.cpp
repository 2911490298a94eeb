// Several keys at once, in one order for all who ask: so they wait for each other in no circle.
#include <pawl/locks.hpp>

#include "runtime/await_there.hpp"
#include "runtime/bodies.hpp"
#include "runtime/checks.hpp"
#include "runtime/core.hpp"
#include "runtime/grants_in_transit.hpp"

#include <algorithm>
#include <utility>

namespace pawl {
namespace {

using boost::asio::awaitable;
using runtime::claimed;
using runtime::engine;
using runtime::grants_in_transit;

std::vector<std::string> checked(const engine& where, std::vector<std::string> keys,
                                 const lease_options& options, millis wait) {
    if (keys.empty() || keys.size() > lease_set_max)
        throw option_error{"invalid number of keys '" + std::to_string(keys.size()) +
                           "'; expected 1 to " + std::to_string(lease_set_max)};
    if (options.occurrence)
        throw option_error{"several keys take no occurrence: it belongs to one key"};
    if (options.reentrancy != reentrancy::none)
        throw option_error{"several keys take no reentrancy: each must be held by this call alone"};
    for (const auto& key : keys) runtime::check_claim(where, key, options, {.wait = wait});
    std::ranges::sort(keys);
    if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end())
        throw option_error{"duplicate key '" + *twice + "'; expected different keys"};
    return keys;
}

// The time that is left, in the unit of a wait; 0 when there is none.
millis left_until(instant until, instant now) {
    return std::max(millis{0}, std::chrono::ceil<millis>(until - now));
}

// All of them, or nothing where one was not granted, and what was granted before it goes back.
async<grants_in_transit> acquire_each(std::shared_ptr<engine> where,
                                      const std::vector<std::string>& keys, lease_options options,
                                      instant until, std::stop_token stop) {
    grants_in_transit all;
    // No caller has them yet, who could renew them.
    const bool renewed_by_caller = options.renew == renewal_mode::manual;
    if (renewed_by_caller) {
        const lease_options usual;
        options.renew = usual.renew;
        options.renew_fraction = usual.renew_fraction;
        options.renew_jitter = usual.renew_jitter;
        options.retry_period = usual.retry_period;
    }
    for (const auto& key : keys) {
        const wait_policy how_long{.wait = left_until(until, where->now())};
        auto wanted = key;
        auto claiming =
            engine::acquire_with_reason(where, std::move(wanted), options, how_long, stop);
        auto answer = co_await std::move(claiming);
        if (answer.has_error()) co_return answer.error();
        auto* held = std::get_if<std::shared_ptr<runtime::lease_state>>(&*answer);
        if (held == nullptr) co_return grants_in_transit{};
        all.add(std::move(*held));
        options.acquire_jitter = millis{0};
    }
    if (renewed_by_caller) all.leave_renewal_to_caller();
    co_return std::move(all);
}

// A lease that was lost while its owner waited for the next key begins all anew.
async<grants_in_transit> acquire_together(std::shared_ptr<engine> where,
                                          std::vector<std::string> keys, lease_options options,
                                          millis wait, runtime::listened_to whom) {
    const runtime::stops told{whom.program, whom.waiter, whom.closing};
    const auto until = where->now() + std::min(wait, runtime::wait_longest);
    for (;;) {
        auto acquiring = acquire_each(where, keys, options, until, told.token());
        auto all = co_await std::move(acquiring);
        if (all.has_error()) co_return std::move(all).error();
        if (all->empty() && whom.was_closed()) co_return net::locks_closed();
        if (all->empty()) co_return grants_in_transit{};
        const bool usable = all->valid(where->now());
        if (usable) co_return std::move(*all);
        if (where->now() >= until || told.token().stop_requested()) co_return grants_in_transit{};
    }
}

acquired<lease_set> as_set(result<grants_in_transit> answer) {
    auto held = std::move(answer).value().take();
    if (held.empty()) return std::nullopt;
    std::vector<lease> leases;
    leases.reserve(held.size());
    for (auto& one : held) leases.emplace_back(std::move(one));
    return lease_set{std::move(leases)};
}

awaitable<acquired<lease_set>> acquire_on_loop(std::shared_ptr<runtime::link> home,
                                               std::vector<std::string> keys, lease_options options,
                                               millis wait, std::stop_token stop,
                                               std::stop_token closing) {
    auto way = runtime::reach(*home);
    const auto what = way->running();
    auto sorted = checked(*what, std::move(keys), options, wait);
    std::stop_source gone;
    runtime::listened_to whom{std::move(stop), gone.get_token(), std::move(closing)};
    auto acquiring = acquire_together(what, std::move(sorted), options, wait, std::move(whom));
    auto awaiting = runtime::await_there(std::move(way), std::move(acquiring), gone);
    auto answer = co_await std::move(awaiting);
    co_return as_set(std::move(answer));
}

}  // namespace

acquired<lease_set> locks::acquire_all(const std::vector<std::string>& keys,
                                       const lease_options& options, millis wait,
                                       std::stop_token stop) {
    const runtime::blocking_call on{core_.get()};
    auto sorted = checked(*on->running(), keys, options, wait);
    return as_set(on->loop().wait_for(acquire_together(
        on->running(), std::move(sorted), options, wait, {std::move(stop), {}, on->closing()})));
}

awaitable<acquired<lease_set>> locks::async_acquire_all(const std::vector<std::string>& keys,
                                                        lease_options options, millis wait,
                                                        std::stop_token stop) {
    auto& on = runtime::opened(core_.get());
    return acquire_on_loop(on.home(), keys, options, wait, std::move(stop), on.closing());
}

acquired<lease_set> locks::acquire_all(std::initializer_list<std::string_view> keys,
                                       const lease_options& options, millis wait,
                                       std::stop_token stop) {
    return acquire_all(std::vector<std::string>{keys.begin(), keys.end()}, options, wait,
                       std::move(stop));
}

awaitable<acquired<lease_set>> locks::async_acquire_all(
    std::initializer_list<std::string_view> keys, lease_options options, millis wait,
    std::stop_token stop) {
    return async_acquire_all(std::vector<std::string>{keys.begin(), keys.end()}, options, wait,
                             std::move(stop));
}

}  // namespace pawl
