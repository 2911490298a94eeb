// Finds a free slot of a semaphore, for whatever asks for keys: the library's leases, which are
// renewed, and those that clients of the API keep themselves.
//
// A caller that does not wait looks at the slots one after another, from a random one on, so that
// processes that come together do not meet at the same. Callers that wait stand in one line with
// all of this process that wait for the same name; the first in it asks for all slots at once, as
// any waiter asks for one key, and takes the first that is granted. What else is granted meanwhile
// is given back.
//
// On one loop only.
#pragma once

#include "lease/claiming.hpp"
#include "net/event.hpp"
#include "net/unattended.hpp"
#include "runtime/local_queue.hpp"

#include <pawl/clock.hpp>
#include <pawl/results.hpp>
#include <pawl/spi/async.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>

namespace pawl::runtime {

// So many keys in a row that cannot be reached are the store's trouble, and no slot's.
constexpr int unreached_slots_max = 2;
// How soon a slot whose key failed is asked for again while others are waited for.
constexpr millis contend_again{1'000};

inline std::string key_of_slot(const std::string& name, std::uint32_t index) {
    return name + "/" + std::to_string(index);
}

// `Held` is what a grant of one key comes to.
template <class Held>
struct slot_won {
    std::uint32_t index;
    Held held;
};
template <class Held>
using slot_answer = acquire_result<slot_won<Held>, leasing::cancelled>;

// Asks for one key of a semaphore.
template <class Held>
class slot_source {
public:
    using answer = acquire_result<Held, leasing::cancelled>;

    virtual ~slot_source() = default;
    // `wait` 0: does not wait for a busy key. `answer_by`: see leasing::claim_plan.
    virtual async<answer> claim(std::string key, millis wait, instant answer_by,
                                std::stop_token stop) = 0;
    // Gives back what is not wanted, in the background.
    virtual void let_go_unused(Held unwanted) = 0;
    virtual boost::asio::any_io_executor executor() const = 0;
    virtual instant now() const = 0;
};

// One of the keys NAME/0 to NAME/(count-1).
struct slot_search {
    std::string name;
    std::uint32_t count;
    std::uint32_t first;  // the one to look at first
    instant until;        // instant::max() where it does not wait
    std::stop_token stop;
};

// Several claims of which the first that is granted is wanted. Each ends by itself; what is granted
// to one that comes after the end goes back at once.
template <class Held>
struct slot_race {
    std::size_t running = 0;
    std::size_t failing = 0;  // of those that run
    bool over = false;
    std::stop_source enough;
    std::optional<slot_won<Held>> won;
    std::optional<failure> fault;
    std::optional<busy> soonest;
    net::event decided;

    void end() {
        over = true;
        enough.request_stop();
        decided.set();
    }
};

inline void keep_sooner(std::optional<busy>& soonest, busy other) {
    if (!soonest || other.remaining < soonest->remaining) soonest = std::move(other);
}

// Looks at each slot once, at the first in any case.
template <class Held>
async<slot_answer<Held>> try_each_slot(std::shared_ptr<slot_source<Held>> source,
                                       slot_search wanted) {
    std::optional<busy> soonest;
    std::optional<failure> trouble;
    int unreached = 0;  // in a row
    for (std::uint32_t i = 0; i < wanted.count; ++i) {
        if (i > 0 && source->now() >= wanted.until) break;
        const auto index = (wanted.first + i) % wanted.count;
        auto claiming =
            source->claim(key_of_slot(wanted.name, index), millis{0}, wanted.until, wanted.stop);
        auto answer = co_await std::move(claiming);
        if (answer.has_error()) {
            trouble = answer.error();
            unreached = is_outage(*trouble) ? unreached + 1 : 0;
            if (unreached == unreached_slots_max) break;
            continue;
        }
        unreached = 0;
        if (auto* held = std::get_if<Held>(&*answer))
            co_return slot_answer<Held>{slot_won<Held>{index, std::move(*held)}};
        if (std::holds_alternative<leasing::cancelled>(*answer))
            co_return slot_answer<Held>{leasing::cancelled{}};
        if (auto* other = std::get_if<busy>(&*answer)) keep_sooner(soonest, std::move(*other));
    }
    if (!soonest) co_return std::move(trouble).value();
    co_return slot_answer<Held>{*std::move(soonest)};
}

template <class Held>
void settle_slot(slot_race<Held>& all, slot_source<Held>& source, std::uint32_t index,
                 typename slot_source<Held>::answer answer) {
    --all.running;
    if (auto* held = std::get_if<Held>(&answer)) {
        if (std::exchange(all.over, true)) return source.let_go_unused(std::move(*held));
        all.won = slot_won<Held>{index, std::move(*held)};
        all.end();
    } else if (auto* other = std::get_if<busy>(&answer)) {
        keep_sooner(all.soonest, std::move(*other));
    }
    if (all.running == all.failing) all.end();
}

// A slot whose key fails leaves the others to be waited for: the wait is over when none answers.
template <class Held>
boost::asio::awaitable<void> contend_for_slot(std::shared_ptr<slot_race<Held>> all,
                                              std::shared_ptr<slot_source<Held>> source,
                                              std::string key, std::uint32_t index, instant until) {
    bool failed = false;
    for (;;) {
        const auto left = std::max(std::chrono::ceil<millis>(until - source->now()), millis{0});
        // It has to answer before it is waited for again.
        auto claiming =
            source->claim(key, failed ? millis{0} : left, instant::max(), all->enough.get_token());
        auto answer = co_await std::move(claiming);
        if (answer.has_error()) {
            if (!std::exchange(failed, true)) ++all->failing;
            all->fault = answer.error();
            if (all->failing == all->running) all->end();
            if (all->over) co_return;
            auto pausing = all->decided.wait_for(contend_again);
            co_await std::move(pausing);
            if (all->over) co_return;
            continue;
        }
        const bool was_failing = std::exchange(failed, false);
        if (was_failing) --all->failing;
        const bool is_busy = std::holds_alternative<busy>(*answer);
        if (was_failing && is_busy && !all->over && source->now() < until) continue;
        co_return settle_slot(*all, *source, index, std::move(*answer));
    }
}

template <class Held>
async<slot_answer<Held>> wait_for_any_slot(std::shared_ptr<slot_source<Held>> source,
                                           slot_search wanted) {
    const auto all = std::make_shared<slot_race<Held>>();
    const auto call_off = [enough = all->enough] { enough.request_stop(); };
    const std::stop_callback on_stop{wanted.stop, call_off};
    all->running = wanted.count;
    for (std::uint32_t index = 0; index < wanted.count; ++index) {
        auto contending = contend_for_slot<Held>(all, source, key_of_slot(wanted.name, index),
                                                 index, wanted.until);
        boost::asio::co_spawn(source->executor(), std::move(contending), net::unattended{});
    }
    auto deciding = all->decided.wait();
    co_await std::move(deciding);
    all->over = true;
    if (all->won) co_return slot_answer<Held>{std::move(*all->won)};
    if (wanted.stop.stop_requested()) co_return slot_answer<Held>{leasing::cancelled{}};
    if (all->fault && !all->soonest) co_return std::move(*all->fault);
    co_return slot_answer<Held>{std::move(all->soonest).value_or(busy{})};
}

// Looks at each slot, and then waits for any of them.
// REQUIRES: it is the caller's turn among those of this process that wait for the name.
template <class Held>
async<slot_answer<Held>> acquire_any_slot(std::shared_ptr<slot_source<Held>> source,
                                          slot_search wanted) {
    auto looking = try_each_slot<Held>(source, wanted);
    auto answer = co_await std::move(looking);
    const bool is_busy = answer.has_value() && std::holds_alternative<busy>(*answer);
    if (!is_busy || source->now() >= wanted.until) co_return answer;
    auto waiting = wait_for_any_slot<Held>(std::move(source), std::move(wanted));
    co_return co_await std::move(waiting);
}

}  // namespace pawl::runtime
