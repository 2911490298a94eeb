#include "runtime/slots.hpp"

#include "net/event.hpp"
#include "net/timer.hpp"
#include "net/unattended.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace pawl::runtime {
namespace {

using boost::asio::awaitable;

// So many keys in a row that cannot be reached are the store's trouble, and no slot's.
constexpr int unreached_max = 2;
// How soon a slot whose key failed is asked for again while others are waited for.
constexpr millis contend_again{1'000};

// Several claims of which the first that is granted is wanted. Each ends by itself; what is granted
// to one that comes after the end goes back at once.
struct contest {
    std::size_t running = 0;
    std::size_t failing = 0;  // of those that run
    bool over = false;
    std::stop_source enough;
    std::optional<slot_grant> won;
    std::optional<failure> fault;
    std::optional<busy> soonest;
    net::event decided;

    void end() {
        over = true;
        enough.request_stop();
        decided.set();
    }
};

void keep_sooner(std::optional<busy>& soonest, busy other) {
    if (!soonest || other.remaining < soonest->remaining) soonest = std::move(other);
}

void note(contest& all, std::uint32_t index, claimed answer) {
    --all.running;
    if (auto* held = std::get_if<std::shared_ptr<lease_state>>(&answer)) {
        if (std::exchange(all.over, true)) return engine::let_go_unused(std::move(*held));
        all.won = slot_grant{index, std::move(*held)};
        all.end();
    } else if (auto* other = std::get_if<busy>(&answer)) {
        keep_sooner(all.soonest, std::move(*other));
    }
    if (all.running == all.failing) all.end();
}

// A slot whose key fails leaves the others to be waited for: the wait is over when none answers.
awaitable<void> contend(std::shared_ptr<contest> all, std::shared_ptr<engine> where,
                        std::string key, std::uint32_t index, lease_options options,
                        instant until) {
    bool failed = false;
    for (;;) {
        const auto left = std::chrono::ceil<millis>(until - where->now());
        // It has to answer before it is waited for again.
        const wait_policy how_long{.wait = failed ? millis{0} : std::max(left, millis{0})};
        auto claiming =
            engine::acquire_with_reason(where, key, options, how_long, all->enough.get_token());
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
        if (was_failing && is_busy && !all->over && where->now() < until) continue;
        co_return note(*all, index, std::move(*answer));
    }
}

}  // namespace

slot_claimer::slot_claimer(std::shared_ptr<engine> where)
    : where_{std::move(where)}, random_{where_->loop().clocks().seed()} {}

async<slot_claimed> slot_claimer::claim(std::shared_ptr<slot_claimer> self, slot_request wanted,
                                        std::stop_token stop) {
    const auto until = self->where_->now() + std::min(wanted.wait, wait_longest);
    const auto place = std::make_shared<place_in_line>();
    const auto call_off = [bell = self->where_->bell(), place] {
        bell->post([place] { place->called_off.set(); });
    };
    const std::stop_callback on_stop{stop, call_off};
    if (wanted.options.acquire_jitter.count() > 0) {
        std::uniform_real_distribution<double> uniform{0.0, 1.0};
        auto pause = std::chrono::duration_cast<leasing::nanos>(wanted.options.acquire_jitter *
                                                                uniform(self->random_));
        // It is part of the wait.
        if (wanted.wait.count() > 0) pause = std::min<leasing::nanos>(pause, wanted.wait);
        auto pausing = place->called_off.wait_for(pause);
        co_await std::move(pausing);
        wanted.options.acquire_jitter = millis{0};
    }
    if (wanted.wait.count() == 0) {
        auto looking = try_each(self, std::move(wanted), instant::max(), std::move(stop));
        co_return co_await std::move(looking);
    }
    auto line = self->lines_->enter(wanted.name, until - self->where_->now(), place);
    const auto turn = co_await std::move(line);
    if (!turn) {
        if (place->called_off.is_set()) co_return slot_claimed{cancelled{}};
        co_return slot_claimed{
            busy{fence_token{}, self->where_->owner(), wanted.options.ttl, busy_reason::held}};
    }
    auto asked = wanted;
    auto looking = try_each(self, std::move(asked), until, stop);
    auto answer = co_await std::move(looking);
    const bool is_busy = answer.has_value() && std::holds_alternative<busy>(*answer);
    if (!is_busy || self->where_->now() >= until) co_return answer;
    auto waiting = wait_for_any(self, std::move(wanted), until, std::move(stop));
    co_return co_await std::move(waiting);
}

async<slot_claimed> slot_claimer::try_each(std::shared_ptr<slot_claimer> self, slot_request wanted,
                                           instant until, std::stop_token stop) {
    std::uniform_int_distribution<std::uint32_t> any{0, wanted.count - 1};
    const auto first = any(self->random_);
    std::optional<busy> soonest;
    std::optional<failure> trouble;
    int unreached = 0;  // in a row
    for (std::uint32_t i = 0; i < wanted.count; ++i) {
        if (i > 0 && self->where_->now() >= until) break;
        const auto index = (first + i) % wanted.count;
        auto claiming =
            engine::acquire_with_reason(self->where_, wanted.key_of(index), wanted.options,
                                        wait_policy{}, stop, nullptr, until);
        auto answer = co_await std::move(claiming);
        if (answer.has_error()) {
            trouble = answer.error();
            unreached = is_outage(*trouble) ? unreached + 1 : 0;
            if (unreached == unreached_max) break;
            continue;
        }
        unreached = 0;
        if (auto* held = std::get_if<std::shared_ptr<lease_state>>(&*answer))
            co_return slot_claimed{slot_grant{index, std::move(*held)}};
        if (std::holds_alternative<cancelled>(*answer)) co_return slot_claimed{cancelled{}};
        if (auto* other = std::get_if<busy>(&*answer)) keep_sooner(soonest, std::move(*other));
    }
    if (!soonest) co_return std::move(trouble).value();
    co_return slot_claimed{*std::move(soonest)};
}

async<slot_claimed> slot_claimer::wait_for_any(std::shared_ptr<slot_claimer> self,
                                               slot_request wanted, instant until,
                                               std::stop_token stop) {
    const auto all = std::make_shared<contest>();
    const auto call_off = [enough = all->enough] { enough.request_stop(); };
    const std::stop_callback on_stop{stop, call_off};
    all->running = wanted.count;
    for (std::uint32_t index = 0; index < wanted.count; ++index) {
        auto contending =
            contend(all, self->where_, wanted.key_of(index), index, wanted.options, until);
        boost::asio::co_spawn(self->where_->executor(), std::move(contending), net::unattended{});
    }
    auto deciding = all->decided.wait();
    co_await std::move(deciding);
    all->over = true;
    if (all->won) co_return slot_claimed{std::move(*all->won)};
    if (stop.stop_requested()) co_return slot_claimed{cancelled{}};
    if (all->fault && !all->soonest) co_return std::move(*all->fault);
    co_return slot_claimed{std::move(all->soonest).value_or(busy{})};
}

}  // namespace pawl::runtime
