#include "runtime/engine.hpp"

#include "base/identity.hpp"
#include "net/unattended.hpp"
#include "runtime/link.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <functional>

namespace pawl::runtime {
namespace {

using boost::asio::awaitable;
using leasing::claiming;
using leasing::nanos;

// How long to rely on the TTL alone where the store has no push, and how soon to look again after a
// push channel has failed.
constexpr millis poll_without_push{1000};
// For ever, where clocks count in nanoseconds.
constexpr millis wait_longest = std::chrono::hours{24 * 3650};
// Between two withdrawals of the same claim: doubled each time, with full jitter.
constexpr millis withdraw_again_first{50};
constexpr millis withdraw_again_longest{2'000};

// With one retry. The TTL does it, where the store does not answer.
awaitable<release_outcome> end_lease(std::shared_ptr<engine> self, std::shared_ptr<holding> who) {
    auto outcome = release_outcome::unknown;
    for (int attempt = 0; attempt < 2 && outcome == release_outcome::unknown; ++attempt) {
        const auto answer = co_await self->store().release(who->key, who->token, who->parting());
        if (answer.has_value())
            outcome = *answer ? release_outcome::released : release_outcome::lost;
        else
            self->report_failure("release", answer.error());
        // The first request may have done it: then the second finds nobody there, and that is no
        // loss.
        if (attempt == 1 && outcome == release_outcome::lost) outcome = release_outcome::unknown;
    }
    co_return outcome;
}

// The mark of its occurrence outlasts the lease, so that this is asked for until it is answered.
awaitable<release_outcome> give_back(std::shared_ptr<engine> self, std::shared_ptr<holding> who) {
    const withdrawal given_up{who->key, who->claim_id, who->options.firing};
    auto asked = given_up;
    auto withdrawing = self->store().withdraw(std::move(asked));
    const auto gone = co_await std::move(withdrawing);
    if (gone.has_value()) co_return *gone ? release_outcome::released : release_outcome::lost;
    self->report_failure("withdraw", gone.error());
    leasing::claim_attempts attempts;
    attempts.last_sent = self->now();
    const auto until = self->worth_withdrawing(attempts, who->options);
    boost::asio::co_spawn(self->executor(), engine::withdraw(self, given_up, until),
                          net::unattended{});
    co_return release_outcome::unknown;
}

}  // namespace

struct engine::errand {
    errand(engine& home, std::string wanted_key, const lease_options& how, patience how_long,
           std::shared_ptr<kept_claim> asked_before)
        : key{std::move(wanted_key)},
          under{asked_before ? std::move(asked_before) : home.new_claim()},
          options{how},
          waiting{how_long},
          began{home.now()},
          place{std::make_shared<place_in_line>(home.executor_)} {}

    std::string key;
    std::shared_ptr<kept_claim> under;
    lease_options options;
    patience waiting;
    instant began;
    // Also the timer of every pause, so that calling it off wakes whatever waits.
    std::shared_ptr<place_in_line> place;
    ticket turn;
};

engine::engine(parts made_of)
    : loop_{*made_of.loop},
      executor_{made_of.loop->get_executor()},
      store_{std::move(made_of.store)},
      settings_{std::move(made_of.settings)},
      owner_{std::move(made_of.owner)},
      watcher_{std::move(made_of.watcher)},
      gate_{std::make_shared<gate>(executor_)},
      keeper_{std::make_shared<keeper>(executor_, store_, watcher_)},
      ids_{loop_.ids()} {}

void engine::start() {
    bell_ = net::attach(loop_.context(), weak_from_this());
    boost::asio::co_spawn(executor_, keeper::run(keeper_), net::unattended{});
}

void engine::report(const errand& todo, acquire_outcome outcome) {
    if (!watcher_) return;
    watcher_->on_acquire(todo.key, outcome, std::chrono::floor<millis>(now() - todo.began));
}

std::optional<busy> engine::held_here(const std::string& key) const {
    const auto found = held_.find(key);
    if (found == held_.end()) return std::nullopt;
    const auto who = found->second.lock();
    if (!who) return std::nullopt;
    const auto left = std::chrono::ceil<millis>(who->trust_end() - now());
    return busy{who->token, who->owner, std::max(left, millis{0}), busy_reason::held};
}

// Reentrancy by instance: another handle on the lease that this process holds already.
std::shared_ptr<holding> engine::share(const std::string& key) {
    const auto found = held_.find(key);
    if (found == held_.end()) return nullptr;
    auto who = found->second.lock();
    if (!who || !who->kept || !who->trusted(now())) return nullptr;
    // One whose last handle has gone is on its way to the store: it is nobody's any more.
    if (!who->add_handle()) return nullptr;
    return who;
}

std::shared_ptr<kept_claim> engine::new_claim() {
    return std::make_shared<kept_claim>(kept_claim{ids_.next()});
}

async<claimed> engine::claim_key(std::shared_ptr<engine> self, std::string key,
                                 lease_options options, patience how_long, std::stop_token stop) {
    auto claiming =
        claim_key(std::move(self), std::move(key), options, how_long, std::move(stop), nullptr);
    co_return co_await std::move(claiming);
}

async<claimed> engine::claim_key(std::shared_ptr<engine> self, std::string key,
                                 lease_options options, patience how_long, std::stop_token stop,
                                 std::shared_ptr<kept_claim> under) {
    if (options.again == reentrancy::instance) {
        if (auto shared = self->share(key)) co_return claimed{std::move(shared)};
    }
    how_long.wait = std::min(how_long.wait, wait_longest);
    const auto if_unknown =
        under ? leasing::claim_plan::unknown::keep : leasing::claim_plan::unknown::withdraw;
    errand todo{*self, std::move(key), options, how_long, std::move(under)};
    // Nobody may wait any more for what is called off, but it may still have to be given back.
    const auto last = std::make_shared<bool>(false);
    const auto call_off = [self, place = todo.place, last] {
        self->bell_->post([self, place, last] {
            if (!std::exchange(*last, true)) ++self->endings_;
            place->call_off();
        });
    };
    const std::stop_callback on_stop{stop, call_off};
    struct at_the_end {
        engine& home;
        bool& last;
        ~at_the_end() {
            if (std::exchange(last, true)) home.ended();
        }
    };
    const at_the_end counted{*self, *last};
    if (options.acquire_jitter.count() > 0)
        co_await todo.place->timer.wait_for(
            std::chrono::duration_cast<nanos>(options.acquire_jitter * self->keeper_->chance()));
    // A push may come at any moment, and the loop may not be standing still then.
    std::optional<net::loop::attention> prompt;
    if (how_long.wait.count() > 0) prompt.emplace(self->loop_);
    auto turn = self->gate_->try_enter(todo.key);
    if (!turn && how_long.wait.count() > 0) {
        auto line = self->gate_->enter(todo.key, how_long.wait, todo.place);
        turn = co_await std::move(line);
    }
    if (!turn) {
        if (todo.place->called_off) co_return claimed{called_off{}};
        self->report(todo, acquire_outcome::busy);
        co_return claimed{self->held_here(todo.key).value_or(
            busy{fence_token{}, self->owner_, options.ttl, busy_reason::held})};
    }
    auto asking = ask(self, todo, if_unknown);
    auto outcome = co_await std::move(asking);
    if (auto* won = std::get_if<leasing::granted>(&outcome)) {
        self->report(todo, acquire_outcome::granted);
        // A store may grant less than was asked: ZooKeeper's sessions have a longest timeout.
        todo.options.ttl = std::min(todo.options.ttl, won->what.ttl);
        auto who = self->hold(todo, std::move(*won), std::move(*turn));
        if (!todo.place->called_off || if_unknown == leasing::claim_plan::unknown::keep)
            co_return claimed{std::move(who)};
        // Granted to somebody who does not want it any more: it was for nobody.
        who->not_started.store(true, std::memory_order_release);
        auto releasing = release(self, std::move(who));
        co_await std::move(releasing);
        co_return claimed{called_off{}};
    }
    if (auto* other = std::get_if<busy>(&outcome)) {
        self->report(todo, acquire_outcome::busy);
        co_return claimed{std::move(*other)};
    }
    if (auto* done = std::get_if<already_done>(&outcome)) {
        self->report(todo, acquire_outcome::already_done);
        co_return claimed{*done};
    }
    if (std::holds_alternative<leasing::cancelled>(outcome)) co_return claimed{called_off{}};
    self->report(todo, acquire_outcome::error);
    if (self->watcher_) self->watcher_->on_store_failure("acquire", std::get<failure>(outcome));
    co_return std::get<failure>(std::move(outcome));
}

awaitable<leasing::claim_outcome> engine::ask(std::shared_ptr<engine> self, errand& todo,
                                              leasing::claim_plan::unknown if_unknown) {
    leasing::claim_plan plan;
    plan.if_unknown = if_unknown;
    plan.how = leasing::rhythm_of(todo.options);
    plan.wait = std::max(nanos{0}, nanos{todo.waiting.wait} - (self->now() - todo.began));
    plan.retries = todo.waiting.retries;
    plan.backoff = todo.waiting.backoff;
    plan.when_down = todo.options.on_store_down;
    plan.settle = self->settings_.timeout * 2;
    plan.poll = self->store_->traits().notifies ? millis{0} : poll_without_push;
    auto& attempts = todo.under->attempts;
    claiming machine{plan, self->now(), attempts};
    for (;;) {
        if (todo.place->called_off) machine.cancel();
        const auto step = machine.next(self->now());
        switch (step.what) {
            case claiming::act::send: {
                claim wanted{todo.key, todo.under->id, self->owner_, todo.options.ttl};
                wanted.firing = todo.options.firing;
                wanted.mode = todo.options.mode;
                machine.sent(self->now());
                auto answer = co_await self->store_->acquire(std::move(wanted));
                machine.answered(std::move(answer), self->now(), self->keeper_->chance());
                break;
            }
            case claiming::act::listen: {
                auto listening = listen(self, todo.key, machine.seen(), todo.place, step.until);
                co_await std::move(listening);
                machine.woken(self->now());
            } break;
            case claiming::act::pause:
                co_await pause(todo, step.until);
                machine.woken(self->now());
                break;
            case claiming::act::withdraw: {
                withdrawal given_up{todo.key, todo.under->id, todo.options.firing};
                const auto until = self->worth_withdrawing(machine.attempts(), todo.options);
                boost::asio::co_spawn(self->executor_, withdraw(self, std::move(given_up), until),
                                      net::unattended{});
                machine.withdrawn();
                break;
            }
            case claiming::act::await:
            case claiming::act::done:
                attempts = machine.attempts();
                co_return machine.outcome();
        }
    }
}

// Waits for the store's push or for the time to be up, whichever comes first.
awaitable<void> engine::listen(std::shared_ptr<engine> self, std::string key, fence_token seen,
                               std::shared_ptr<place_in_line> place, instant until) {
    struct ear {
        boost::asio::cancellation_signal stop;
        bool over = false;
        bool deaf = false;  // no push will come
    };
    auto listening = std::make_shared<ear>();
    const auto heard = [self, listening, place, until](std::exception_ptr,
                                                       const result<void>& change) {
        if (listening->over) return;
        const bool failed = change.has_error();
        self->report_push(change);
        listening->over = !failed;
        listening->deaf = failed;
        // Without the push there is still the clock: look again soon, but do not ask in a loop.
        if (failed)
            place->timer.move(std::min(self->now() + poll_without_push, until));
        else
            place->timer.cancel();
    };
    auto wait = [](std::shared_ptr<lease_store> store, std::string which,
                   fence_token holder) -> async<void> {
        co_return co_await store->wait_change(std::move(which), holder);
    };
    boost::asio::co_spawn(self->executor_, wait(self->store_, std::move(key), seen),
                          boost::asio::bind_cancellation_slot(listening->stop.slot(), heard));
    // A push that has failed moves the end of the wait.
    if (!listening->over && !place->called_off) {
        auto waiting = place->timer.wait_until(until);
        co_await std::move(waiting);
    }
    listening->over = true;
    listening->stop.emit(boost::asio::cancellation_type::terminal);
}

awaitable<void> engine::await_change(std::shared_ptr<engine> self, std::string key,
                                     fence_token seen, millis longest, std::stop_token stop) {
    auto place = std::make_shared<place_in_line>(self->executor_);
    const auto call_off = [bell = self->bell_, place] {
        bell->post([place] { place->call_off(); });
    };
    const std::stop_callback on_stop{stop, call_off};
    const net::loop::attention prompt{self->loop_};
    auto listening = listen(self, std::move(key), seen, place, self->now() + longest);
    co_await std::move(listening);
}

awaitable<void> engine::pause(errand& todo, instant until) {
    if (todo.place->called_off) co_return;
    co_await todo.place->timer.wait_until(until);
}

awaitable<void> engine::withdraw(std::shared_ptr<engine> self, withdrawal given_up, instant until) {
    ++self->endings_;
    net::timer timer{self->executor_};
    for (auto longest = withdraw_again_first;;
         longest = std::min(longest * 2, withdraw_again_longest)) {
        auto asked = given_up;
        auto withdrawing = self->store_->withdraw(std::move(asked));
        const auto gone = co_await std::move(withdrawing);
        if (gone.has_value()) break;
        self->report_failure("withdraw", gone.error());
        const auto code = gone.error().code;
        const bool hopeless = code != errc::unreachable && code != errc::outcome_unknown;
        if (hopeless || self->now() >= until) break;
        auto pausing =
            timer.wait_for(std::chrono::duration_cast<nanos>(longest * self->keeper_->chance()));
        co_await std::move(pausing);
    }
    self->ended();
}

void engine::ended() {
    if (--endings_ == 0 && drained_) drained_->timer.cancel();
}

// Once, until a push comes again: a store that grants no right to listen says so each time.
void engine::report_push(const result<void>& change) {
    const bool failed = change.has_error();
    if (failed && !push_failed_) report_failure("wait_change", change.error());
    push_failed_ = failed;
}

std::shared_ptr<holding> engine::hold(errand& todo, leasing::granted won, ticket turn) {
    const leasing::heartbeat beat{leasing::rhythm_of(todo.options), won.sent, won.first_sent,
                                  keeper_->chance()};
    auto who =
        std::make_shared<holding>(std::move(won.what), owner_, todo.options, beat, std::move(turn),
                                  won.sent, home_, loop_.clocks().simulated());
    who->claim_id = todo.under->id;
    who->claim_repeated = won.repeated;
    held_.insert_or_assign(who->key, who);
    keeper_->keep(who);
    return who;
}

void engine::let_go(std::shared_ptr<holding> who) noexcept {
    if (--who->handles == 0) release_in_background(std::move(who));
}

void engine::release_in_background(std::shared_ptr<holding> who) noexcept {
    who->home->with([&](net::loop& where, const std::shared_ptr<engine>& what) {
        boost::asio::co_spawn(where.get_executor(), release(what, who), boost::asio::detached);
    });
}

void engine::let_go_unused(std::shared_ptr<holding> who) noexcept {
    if (--who->handles > 0) return;
    // Nobody can come any more.
    if (!who->shared.load(std::memory_order_acquire))
        who->not_started.store(true, std::memory_order_release);
    release_in_background(std::move(who));
}

awaitable<release_outcome> engine::release(std::shared_ptr<engine> self,
                                           std::shared_ptr<holding> who) {
    self->keeper_->forget(who);
    if (const auto found = self->held_.find(who->key);
        found != self->held_.end() && found->second.lock() == who)
        self->held_.erase(found);
    ++self->endings_;
    const bool gives_back = who->not_started.load(std::memory_order_acquire);
    auto ending = gives_back ? give_back(self, who) : end_lease(self, who);
    const auto outcome = co_await std::move(ending);
    who->turn.give_up();
    if (self->watcher_)
        self->watcher_->on_release(who->key, who->token,
                                   std::chrono::floor<millis>(self->now() - who->claimed));
    // A copy of the claim that is still on its way would hold the key for nobody. Its occurrence is
    // run: it is not given back.
    if (who->claim_repeated && !gives_back) {
        withdrawal buried{who->key, who->claim_id};
        boost::asio::co_spawn(self->executor_,
                              withdraw(self, std::move(buried), self->now() + who->options.ttl),
                              net::unattended{});
    }
    self->ended();
    co_return outcome;
}

awaitable<renewal> engine::renew(std::shared_ptr<engine> self, std::shared_ptr<holding> who) {
    return keeper::renew_now(self->keeper_, std::move(who));
}

awaitable<bool> engine::drain(std::shared_ptr<engine> self, millis longest, std::stop_token stop) {
    const auto waiting = std::make_shared<place_in_line>(self->executor_);
    const auto call_off = [bell = self->bell_, waiting] {
        bell->post([waiting] { waiting->call_off(); });
    };
    const std::stop_callback on_stop{stop, call_off};
    const auto until = self->now() + std::min(longest, wait_longest);
    self->drained_ = waiting;
    while (self->endings_ > 0 && !waiting->called_off && self->now() < until) {
        auto resting = waiting->timer.wait_until(until);
        co_await std::move(resting);
    }
    co_return self->endings_ == 0;
}

}  // namespace pawl::runtime
