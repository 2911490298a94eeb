#include "runtime/claimer.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"
#include "net/event.hpp"
#include "net/unattended.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <functional>
#include <optional>
#include <utility>

namespace pawl::runtime {
namespace {

using boost::asio::awaitable;
using leasing::claiming;
using leasing::nanos;

// How long to rely on the TTL alone where the store has no push, and how soon to look again after a
// push channel has failed.
constexpr millis poll_without_push{1000};
// Between two withdrawals of the same claim: doubled each time, with full jitter.
constexpr millis withdraw_again_first{50};
constexpr millis withdraw_again_longest{2'000};

// What is wrong with a grant that is none, whatever came between the store and us: another answer
// on our connection, or a fault of the engine.
std::optional<failure> grant_fault(const result<acquire_result<grant>>& answer,
                                   const claim_request& asked) {
    if (answer.has_error()) return std::nullopt;
    const auto* won = std::get_if<grant>(&*answer);
    if (won == nullptr) return std::nullopt;
    const auto told = [&](const std::string& what) {
        return failure{errc::protocol, "the store answered the claim of '" +
                                           base::printable(asked.key) + "' with " + what};
    };
    if (won->key != asked.key) return told("a grant of '" + base::printable(won->key) + "'");
    if (number(won->token) == 0) return told("token 0");
    if (won->ttl > asked.options.ttl || won->ttl.count() <= 0)
        return told("a ttl of " + base::format_duration(won->ttl) + "; requested " +
                    base::format_duration(asked.options.ttl));
    return std::nullopt;
}

}  // namespace

claimer::claimer(net::loop& loop, std::shared_ptr<lease_store> store, millis timeout,
                 std::shared_ptr<observer> watcher)
    : loop_{loop},
      executor_{loop.get_executor()},
      store_{std::move(store)},
      timeout_{timeout},
      watcher_{std::move(watcher)},
      ids_{loop.ids()},
      random_{loop.clocks().seed()} {}

std::shared_ptr<kept_claim> claimer::new_claim() {
    return std::make_shared<kept_claim>(kept_claim{ids_.next()});
}

leasing::claim_plan claimer::plan_of(const claim_request& todo) const {
    leasing::claim_plan plan;
    plan.if_unknown = todo.if_unknown;
    plan.how = leasing::renewal_timing_of(todo.options);
    plan.wait = std::max(nanos{0}, nanos{todo.waiting.wait} - (loop_.now() - todo.began));
    plan.retries = todo.waiting.retries;
    plan.backoff = todo.waiting.backoff;
    plan.when_down = todo.options.on_store_down;
    plan.settle = timeout_ * 2;
    plan.answer_by = todo.answer_by;
    if (todo.options.delivery == delivery::at_most_once) plan.marks = todo.options.occurrence;
    plan.poll = poll();
    return plan;
}

nanos claimer::poll() const { return store_->traits().notifies ? millis{0} : poll_without_push; }

leasing::yielding& claimer::turns_of(const std::string& key) {
    const auto hash = std::hash<std::string>{}(key);
    const auto places = places_of(hash);
    auto place = std::find_if(places.begin(), places.end(),
                              [&](const auto& each) { return each.hash == hash; });
    if (place == places.end()) {
        place = std::min_element(places.begin(), places.end(),
                                 [](const auto& a, const auto& b) { return a.used < b.used; });
        *place = {hash};
    }
    place->used = loop_.now();
    return place->turns;
}

void claimer::released(const std::string& key) {
    const auto hash = std::hash<std::string>{}(key);
    for (auto& place : places_of(hash))
        if (place.hash == hash) place.turns.released(loop_.now());
}

awaitable<void> claimer::let_others_go_first(std::shared_ptr<claimer> self,
                                             const claim_request& todo, leasing::nanos rest) {
    if (rest.count() <= 0) co_return;
    auto resting = todo.place->called_off.wait_until(
        std::min(self->loop_.now() + rest, todo.began + std::min(todo.waiting.wait, wait_longest)));
    co_await std::move(resting);
}

// What the answer says of others that want the key.
void claimer::note(const claim_request& todo, instant sent,
                   const result<acquire_result<grant>>& answer) {
    if (!todo.yields() || answer.has_error()) return;
    const auto took = loop_.now() - sent;
    round_trip_ = took < round_trip_ || round_trip_.count() == 0
                      ? took
                      : round_trip_ + (took - round_trip_) / 16;
    if (std::holds_alternative<grant>(*answer)) turns_of(todo.key).granted(loop_.now());
    const auto* other = std::get_if<busy>(&*answer);
    if (other != nullptr && other->reason == busy_reason::held)
        turns_of(todo.key).rejected(std::hash<std::string>{}(other->owner), other->holder,
                                    loop_.now());
}

awaitable<leasing::claim_outcome> claimer::ask(std::shared_ptr<claimer> self, claim_request& todo) {
    auto& me = *self;
    // A push may come at any moment, and the loop may not be standing still then.
    std::optional<net::loop::attention> prompt;
    if (todo.waiting.wait.count() > 0) prompt.emplace(me.loop_);
    if (todo.yields()) {
        const auto rest =
            me.turns_of(todo.key).before_claim(me.loop_.now(), me.round_trip_, me.poll());
        auto yielding = let_others_go_first(self, todo, rest);
        co_await std::move(yielding);
    }
    auto& attempts = todo.under->attempts;
    claiming machine{me.plan_of(todo), me.loop_.now(), attempts};
    for (;;) {
        if (todo.place->called_off.is_set()) machine.cancel();
        const auto step = machine.next(me.loop_.now());
        switch (step.what) {
            case claiming::act::send: {
                claim wanted{todo.key, todo.under->id, todo.owner, todo.options.ttl};
                wanted.occurrence = todo.options.occurrence;
                wanted.delivery = todo.options.delivery;
                // Who waits for a key waits for its server as well, for as long as a request may
                // take.
                wanted.on_store_down =
                    todo.waiting.wait.count() > 0 ? store_down::retry : todo.options.on_store_down;
                const auto sent = me.loop_.now();
                machine.sent(sent);
                auto sending = send(self, std::move(wanted), machine.next(me.loop_.now()).until);
                auto answer = co_await std::move(sending);
                if (answer) me.note(todo, sent, *answer);
                const auto poll = me.poll();
                if (poll.count() > 0 && todo.yields())
                    machine.look_after(me.turns_of(todo.key).until_next_look(me.loop_.now(), poll));
                if (!answer)
                    machine.unanswered();
                else if (auto bad = grant_fault(*answer, todo))
                    machine.mistaken(std::move(*bad));
                else
                    machine.answered(std::move(*answer), me.loop_.now(), me.uniform());
                break;
            }
            case claiming::act::listen: {
                auto listening = listen(self, todo.key, machine.seen(), todo.place, step.until);
                co_await std::move(listening);
                if (todo.yields()) {
                    const auto rest = me.turns_of(todo.key).after_push(me.round_trip_);
                    auto yielding = let_others_go_first(self, todo, rest);
                    co_await std::move(yielding);
                }
                machine.woken(me.loop_.now());
                break;
            }
            case claiming::act::pause: {
                auto pausing = todo.place->called_off.wait_until(step.until);
                co_await std::move(pausing);
                machine.woken(me.loop_.now());
                break;
            }
            case claiming::act::withdraw:
                // The withdrawal waits for the store to come back; a caller that asks for the key
                // meanwhile is to hear that it is gone.
                if (machine.is_store_gone()) todo.turn.give_up();
                withdraw_later(self, withdrawal{todo.key, todo.under->id, todo.options.occurrence},
                               machine.attempts(), todo.options, std::move(todo.turn));
                machine.withdrawn();
                break;
            case claiming::act::await:
            case claiming::act::done:
                attempts = machine.attempts();
                co_return machine.outcome();
        }
    }
}

awaitable<std::optional<result<acquire_result<grant>>>> claimer::send(std::shared_ptr<claimer> self,
                                                                      claim wanted, instant until) {
    auto asking = self->store_->acquire(std::move(wanted));
    if (until == instant::max()) co_return co_await std::move(asking);
    // The request goes on without us when the time is up, and what it takes is withdrawn.
    struct pending {
        net::event over;
        std::optional<result<acquire_result<grant>>> answer{};
    };
    const auto sent = std::make_shared<pending>();
    auto waiting_for = [](std::shared_ptr<lease_store> store, async<acquire_result<grant>> request,
                          std::shared_ptr<pending> into) -> awaitable<void> {
        const auto alive = std::move(store);
        into->answer = co_await std::move(request);
        into->over.set();
    };
    boost::asio::co_spawn(self->executor_, waiting_for(self->store_, std::move(asking), sent),
                          net::unattended{});
    auto resting = sent->over.wait_until(until);
    co_await std::move(resting);
    co_return std::move(sent->answer);
}

// Waits for the store's push or for the time to be up, whichever comes first.
awaitable<void> claimer::listen(std::shared_ptr<claimer> self, std::string key, fence_token seen,
                                std::shared_ptr<queue_waiter> place, instant until) {
    struct push_listener {
        boost::asio::cancellation_signal stop;
        bool over = false;
        bool deaf = false;  // no push will come
    };
    auto listening = std::make_shared<push_listener>();
    const auto heard = [self, listening, place](std::exception_ptr, const result<void>& change) {
        if (listening->over) return;
        const bool failed = change.has_error();
        self->report_push(change);
        listening->over = !failed;
        listening->deaf = failed;
        place->called_off.notify_all();
    };
    auto wait = [](std::shared_ptr<lease_store> store, std::string which,
                   fence_token holder) -> async<void> {
        co_return co_await store->wait_change(std::move(which), holder);
    };
    boost::asio::co_spawn(self->executor_, wait(self->store_, std::move(key), seen),
                          boost::asio::bind_cancellation_slot(listening->stop.slot(), heard));
    if (!listening->over && !listening->deaf) {
        auto waiting = place->called_off.wait_until(until);
        co_await std::move(waiting);
    }
    // Without the push there is still the clock: look again soon, but do not ask in a loop.
    if (listening->deaf) {
        auto waiting =
            place->called_off.wait_until(std::min(self->loop_.now() + poll_without_push, until));
        co_await std::move(waiting);
    }
    listening->over = true;
    listening->stop.emit(boost::asio::cancellation_type::terminal);
}

awaitable<void> claimer::await_change(std::shared_ptr<claimer> self, std::string key,
                                      fence_token seen, millis longest, std::stop_token stop) {
    auto place = std::make_shared<queue_waiter>();
    const auto call_off = [home = self->attachment_, place] {
        home->post([place] { place->called_off.set(); });
    };
    const std::stop_callback on_stop{stop, call_off};
    const net::loop::attention prompt{self->loop_};
    auto listening = listen(self, std::move(key), seen, place, self->loop_.now() + longest);
    co_await std::move(listening);
}

// Once, until a push comes again: a store that grants no right to listen says so each time.
void claimer::report_push(const result<void>& change) {
    const bool failed = change.has_error();
    if (failed && !push_failed_) report_failure("wait_change", change.error());
    push_failed_ = failed;
}

async<bool> claimer::give_back(std::shared_ptr<claimer> self, withdrawal given_up,
                               const lease_options& options) {
    auto asked = given_up;
    auto withdrawing = self->store_->withdraw(std::move(asked));
    auto gone = co_await std::move(withdrawing);
    if (gone.has_value()) co_return gone;
    self->report_failure("withdraw", gone.error());
    leasing::claim_attempts attempts;
    attempts.last_sent = self->loop_.now();
    withdraw_later(self, std::move(given_up), attempts, options);
    co_return gone;
}

void claimer::withdraw_later(const std::shared_ptr<claimer>& self, withdrawal given_up,
                             const leasing::claim_attempts& attempts, const lease_options& options,
                             ticket turn) {
    const auto until = self->worth_withdrawing(attempts, options);
    auto withdrawing = withdraw(self, std::move(given_up), until, std::move(turn));
    boost::asio::co_spawn(self->executor_, std::move(withdrawing), net::unattended{});
}

awaitable<void> claimer::withdraw(std::shared_ptr<claimer> self, withdrawal given_up, instant until,
                                  ticket turn) {
    self->begin_ending();
    turn.will_be_given_up();
    net::timer timer{self->executor_};
    for (auto longest = withdraw_again_first;;
         longest = std::min(longest * 2, withdraw_again_longest)) {
        auto asked = given_up;
        auto withdrawing = self->store_->withdraw(std::move(asked));
        const auto gone = co_await std::move(withdrawing);
        turn.give_up();
        if (gone.has_value()) break;
        self->report_failure("withdraw", gone.error());
        if (!may_pass(gone.error().code) || self->loop_.now() >= until) break;
        auto pausing = timer.wait_for(std::chrono::duration_cast<nanos>(longest * self->uniform()));
        co_await std::move(pausing);
    }
    self->end_ending();
}

void claimer::end_ending() {
    if (--endings_ > 0) return;
    for (const auto& waiting : drains_) waiting->called_off.notify_all();
}

awaitable<bool> claimer::drain(std::shared_ptr<claimer> self, millis longest,
                               std::stop_token stop) {
    const auto waiting = std::make_shared<queue_waiter>();
    const auto call_off = [home = self->attachment_, waiting] {
        home->post([waiting] { waiting->called_off.set(); });
    };
    const std::stop_callback on_stop{stop, call_off};
    const auto until = self->loop_.now() + std::clamp(longest, millis{0}, wait_longest);
    // What was called off before may have been granted all the same, and come back by itself.
    co_await boost::asio::post(self->executor_, boost::asio::use_awaitable);
    self->drains_.push_back(waiting);
    while (self->is_ending() && !waiting->called_off.is_set() && self->loop_.now() < until) {
        auto resting = waiting->called_off.wait_until(until);
        co_await std::move(resting);
    }
    std::erase(self->drains_, waiting);
    co_return !self->is_ending();
}

}  // namespace pawl::runtime
