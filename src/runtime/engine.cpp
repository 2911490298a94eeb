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
using leasing::nanos;

// With one retry. The TTL does it, where the store does not answer.
awaitable<release_outcome> end_lease(std::shared_ptr<engine> self,
                                     std::shared_ptr<lease_state> who) {
    auto outcome = release_outcome::unknown;
    for (int attempt = 0; attempt < 2 && outcome == release_outcome::unknown; ++attempt) {
        const auto answer = co_await self->store().release(who->key, who->token, who->parting());
        if (answer.has_value())
            outcome = *answer ? release_outcome::released : release_outcome::lost;
        else
            self->report_failure("release", answer.error());
        // The first request may have done it: then the second finds no holder there, and that is no
        // loss.
        if (attempt == 1 && outcome == release_outcome::lost) outcome = release_outcome::unknown;
    }
    co_return outcome;
}

// The mark of its occurrence outlasts the lease, so that this is asked for until it is answered.
awaitable<release_outcome> give_back(std::shared_ptr<engine> self,
                                     std::shared_ptr<lease_state> who) {
    withdrawal given_up{who->key, who->claim_id, who->options.occurrence};
    auto giving = claimer::give_back(self->claims(), std::move(given_up), who->options);
    const auto gone = co_await std::move(giving);
    if (gone.has_value()) co_return *gone ? release_outcome::released : release_outcome::lost;
    co_return release_outcome::unknown;
}

release_outcome worse(release_outcome one, release_outcome other) {
    using enum release_outcome;
    for (const auto how : {lost, unknown, still_shared})
        if (one == how || other == how) return how;
    return released;
}

// What an observer throws ends the process wherever it is called: it must not come out of a call of
// another caller's, who would leave a grant behind that none keeps.
class guarded : public observer {
public:
    explicit guarded(std::shared_ptr<observer> inner) : inner_{std::move(inner)} {}

    void on_acquire(std::string_view key, acquire_outcome how, millis waited) noexcept override {
        inner_->on_acquire(key, how, waited);
    }
    void on_renew(std::string_view key, bool renewed, int failures) noexcept override {
        inner_->on_renew(key, renewed, failures);
    }
    void on_renewal_failures(std::string_view key, int failures, millis left) noexcept override {
        inner_->on_renewal_failures(key, failures, left);
    }
    void on_lost(std::string_view key, fence_token token, loss_reason why) noexcept override {
        inner_->on_lost(key, token, why);
    }
    void on_release(std::string_view key, fence_token token, millis held_for) noexcept override {
        inner_->on_release(key, token, held_for);
    }
    void on_store_failure(std::string_view operation, const failure& why) noexcept override {
        inner_->on_store_failure(operation, why);
    }

private:
    const std::shared_ptr<observer> inner_;
};

std::shared_ptr<observer> guard(std::shared_ptr<observer> inner) {
    return inner ? std::make_shared<guarded>(std::move(inner)) : nullptr;
}

}  // namespace

engine::engine(parts made_of)
    : loop_{*made_of.loop},
      executor_{made_of.loop->get_executor()},
      store_{std::move(made_of.store)},
      settings_{std::move(made_of.settings)},
      owner_{std::move(made_of.owner)},
      watcher_{guard(std::move(made_of.observer))},
      local_queue_{std::make_shared<local_queue>()},
      renewer_{std::make_shared<renewer>(executor_, store_, watcher_)},
      claims_{std::make_shared<claimer>(loop_, store_, settings_.timeout, watcher_)} {}

void engine::start() {
    attachment_ = net::attach(loop_.get_executor(), weak_from_this());
    claims_->connect(attachment_);
    boost::asio::co_spawn(executor_, renewer::run(renewer_), net::unattended{});
}

void engine::report(const claim_request& todo, acquire_outcome outcome) {
    if (!watcher_) return;
    watcher_->on_acquire(todo.key, outcome, std::chrono::floor<millis>(now() - todo.began));
}

std::optional<busy> engine::held_here(const std::string& key) const {
    const auto found = held_.find(key);
    if (found == held_.end()) return std::nullopt;
    const auto who = found->second.lock();
    if (!who) return std::nullopt;
    const auto left = std::chrono::ceil<millis>(who->valid_until() - now());
    return busy{who->token, who->owner, std::max(left, millis{0}), busy_reason::held};
}

std::shared_ptr<lease_state> engine::held(const std::string& key) const {
    const auto found = held_.find(key);
    return found == held_.end() ? nullptr : found->second.lock();
}

// How long to stand in line. A caller that does not wait for a busy key waits for a release of our
// own that is under way: the store would say that the key is busy, and it is not.
millis engine::time_in_line(const std::string& key, const wait_policy& how_long) const {
    if (how_long.wait.count() > 0) return how_long.wait;
    const auto found = held_.find(key);
    const auto who = found == held_.end() ? nullptr : found->second.lock();
    const bool leaves = who && who->handles.load(std::memory_order_acquire) == 0;
    const bool no_waiters = local_queue_->waiting(key) == 0;
    if (local_queue_->is_free_soon(key) || (leaves && no_waiters)) return settings_.timeout * 2;
    return millis{0};
}

void engine::close() { renewer_->lose_all(loss_reason::closed); }

// Reentrancy by instance: another handle on the lease that this process holds already.
std::shared_ptr<lease_state> engine::share(const std::string& key) {
    const auto found = held_.find(key);
    if (found == held_.end()) return nullptr;
    auto who = found->second.lock();
    if (!who || !who->kept || !who->valid(now())) return nullptr;
    // Both have to have said so: who asked for a lease of its own is not made to share it.
    if (who->options.reentrancy != reentrancy::instance) return nullptr;
    // One whose last handle has gone is on its way to the store: it has no owner any more.
    if (!who->add_handle()) return nullptr;
    return who;
}

async<claimed> engine::acquire_with_reason(std::shared_ptr<engine> self, std::string key,
                                           lease_options options, wait_policy how_long,
                                           std::stop_token stop) {
    auto claiming = acquire_with_reason(std::move(self), std::move(key), options, how_long,
                                        std::move(stop), nullptr);
    co_return co_await std::move(claiming);
}

async<claimed> engine::acquire_with_reason(std::shared_ptr<engine> self, std::string key,
                                           lease_options options, wait_policy how_long,
                                           std::stop_token stop, std::shared_ptr<kept_claim> under,
                                           instant answer_by, bool takes_turns) {
    if (options.reentrancy == reentrancy::instance) {
        if (auto shared = self->share(key)) co_return claimed{std::move(shared)};
    }
    how_long.wait = std::min(how_long.wait, wait_longest);
    const auto if_unknown =
        under ? leasing::claim_plan::unknown::keep : leasing::claim_plan::unknown::withdraw;
    claim_request todo{
        std::move(key), self->owner_, under ? std::move(under) : self->claims_->new_claim(),
        options,        how_long,     if_unknown,
        self->now()};
    todo.answer_by = answer_by;
    todo.takes_turns = takes_turns;
    // No caller may wait any more for what is called off, but it may still have to be given back.
    const auto last = std::make_shared<bool>(false);
    const auto call_off = [self, place = todo.place, last] {
        self->attachment_->post([self, place, last] {
            if (!std::exchange(*last, true)) self->claims_->begin_ending();
            place->called_off.set();
        });
    };
    const std::stop_callback on_stop{stop, call_off};
    struct at_the_end {
        claimer& home;
        bool& last;
        ~at_the_end() {
            if (std::exchange(last, true)) home.end_ending();
        }
    };
    const at_the_end counted{*self->claims_, *last};
    if (options.acquire_jitter.count() > 0) {
        auto pause =
            std::chrono::duration_cast<nanos>(options.acquire_jitter * self->renewer_->uniform());
        // It is part of the wait.
        if (how_long.wait.count() > 0) pause = std::min<nanos>(pause, how_long.wait);
        auto pausing = todo.place->called_off.wait_for(pause);
        co_await std::move(pausing);
        const auto paused = std::chrono::floor<millis>(self->now() - todo.began);
        if (how_long.wait.count() > 0) how_long.wait = std::max(how_long.wait - paused, millis{1});
    }
    todo.place->shares = options.reentrancy == reentrancy::instance;
    // One may have been granted during the pause.
    if (todo.place->shares && !todo.place->called_off.is_set())
        if (auto shared = self->share(todo.key)) co_return claimed{std::move(shared)};
    auto turn = self->local_queue_->try_enter(todo.key);
    const auto in_line_until =
        std::min(self->now() + self->time_in_line(todo.key, how_long), answer_by);
    while (!turn && self->now() < in_line_until && !todo.place->called_off.is_set()) {
        auto line = self->local_queue_->enter(todo.key, in_line_until - self->now(), todo.place);
        turn = co_await std::move(line);
        // The one who was first in line may have been granted what this one is to share.
        if (!turn && todo.place->shares)
            if (auto shared = self->share(todo.key)) co_return claimed{std::move(shared)};
    }
    if (!turn) {
        if (todo.place->called_off.is_set()) co_return claimed{cancelled{}};
        self->report(todo, acquire_outcome::busy);
        co_return claimed{self->held_here(todo.key).value_or(
            busy{fence_token{}, self->owner_, options.ttl, busy_reason::held})};
    }
    todo.turn = std::move(*turn);
    auto asking = claimer::ask(self->claims_, todo);
    auto outcome = co_await std::move(asking);
    if (auto* won = std::get_if<leasing::granted>(&outcome)) {
        self->report(todo, acquire_outcome::granted);
        // A store may grant less than was asked: ZooKeeper's sessions have a longest timeout.
        // What is kept back from it is the same share.
        if (won->what.ttl < todo.options.ttl)
            todo.options.margin =
                todo.options.margin * won->what.ttl.count() / todo.options.ttl.count();
        todo.options.ttl = std::min(todo.options.ttl, won->what.ttl);
        auto who = self->hold(todo, std::move(*won));
        if (!todo.place->called_off.is_set() || if_unknown == leasing::claim_plan::unknown::keep)
            co_return claimed{std::move(who)};
        // Granted to a caller who does not want it any more: it is of no use.
        who->not_started.store(true, std::memory_order_release);
        auto releasing = release(self, std::move(who));
        co_await std::move(releasing);
        co_return claimed{cancelled{}};
    }
    if (auto* other = std::get_if<busy>(&outcome)) {
        self->report(todo, acquire_outcome::busy);
        co_return claimed{std::move(*other)};
    }
    if (auto* done = std::get_if<already_done>(&outcome)) {
        self->report(todo, acquire_outcome::already_done);
        co_return claimed{*done};
    }
    if (std::holds_alternative<cancelled>(outcome)) co_return claimed{cancelled{}};
    self->report(todo, acquire_outcome::error);
    if (self->watcher_) self->watcher_->on_store_failure("acquire", std::get<failure>(outcome));
    co_return std::get<failure>(std::move(outcome));
}

std::shared_ptr<lease_state> engine::hold(claim_request& todo, leasing::granted won) {
    const leasing::heartbeat beat{leasing::renewal_timing_of(todo.options), won.sent,
                                  won.first_sent, renewer_->uniform()};
    auto who = std::make_shared<lease_state>(std::move(won.what), owner_, todo.options, beat,
                                             std::move(todo.turn), won.sent, home_,
                                             loop_.clocks().simulated());
    who->claim_id = todo.under->id;
    who->claim_repeated = won.repeated;
    held_.insert_or_assign(who->key, who);
    renewer_->keep(who);
    local_queue_->wake_those_who_share(who->key);
    return who;
}

void engine::let_go(std::shared_ptr<lease_state> who) noexcept {
    if (who->drop_handle()) release_in_background(std::move(who));
}

void engine::release_in_background(std::shared_ptr<lease_state> who) noexcept {
    // Not from here: the engine may end it at once, and tell an observer who lets go of another.
    who->home->with([&](net::loop& where, const std::shared_ptr<engine>& what) {
        what->claims_->release_comes();
        boost::asio::post(where.get_executor(), [what, who = std::move(who)]() mutable {
            boost::asio::co_spawn(what->executor_, release(what, std::move(who)),
                                  boost::asio::detached);
            what->claims_->release_has_begun();
        });
    });
}

void engine::let_go_unused(std::shared_ptr<lease_state> who) noexcept {
    if (!who->drop_handle()) return;
    // No caller can come any more.
    if (!who->shared.load(std::memory_order_acquire))
        who->not_started.store(true, std::memory_order_release);
    release_in_background(std::move(who));
}

awaitable<release_outcome> engine::release(std::shared_ptr<engine> self,
                                           std::shared_ptr<lease_state> who) {
    self->renewer_->forget(who);
    if (const auto found = self->held_.find(who->key);
        found != self->held_.end() && found->second.lock() == who)
        self->held_.erase(found);
    self->claims_->begin_ending();
    who->turn.will_be_given_up();
    const bool gives_back = who->not_started.load(std::memory_order_acquire);
    auto ending = gives_back ? give_back(self, who) : end_lease(self, who);
    const auto outcome = co_await std::move(ending);
    self->claims_->released(who->key);
    who->turn.give_up();
    if (self->watcher_)
        self->watcher_->on_release(who->key, who->token,
                                   std::chrono::floor<millis>(self->now() - who->claimed));
    // A copy of the claim that is still on its way would hold the key for no process. Its
    // occurrence is run: it is not given back.
    if (who->claim_repeated && !gives_back) {
        withdrawal buried{who->key, who->claim_id};
        auto burying =
            claimer::withdraw(self->claims_, std::move(buried), self->now() + who->options.ttl);
        boost::asio::co_spawn(self->executor_, std::move(burying), net::unattended{});
    }
    self->claims_->end_ending();
    co_return outcome;
}

awaitable<release_outcome> engine::release(std::shared_ptr<engine> self,
                                           std::vector<std::shared_ptr<lease_state>> all) {
    struct under_way {
        std::size_t left;
        release_outcome worst = release_outcome::released;
        net::event done;
    };
    const auto rest = std::make_shared<under_way>(all.size());
    const auto ended = [rest](const std::exception_ptr& raised, release_outcome how) {
        rest->worst = worse(rest->worst, raised ? release_outcome::unknown : how);
        if (--rest->left == 0) rest->done.set();
    };
    for (auto& who : all)
        boost::asio::co_spawn(self->executor_, release(self, std::move(who)), ended);
    auto waiting = rest->done.wait();
    co_await std::move(waiting);
    co_return rest->worst;
}

awaitable<renewal> engine::renew(std::shared_ptr<engine> self,
                                 std::vector<std::shared_ptr<lease_state>> all) {
    return renewer::renew_now(self->renewer_, std::move(all));
}

void engine::take_away(const std::string& key) {
    if (const auto who = held(key)) renewer_->lose_now(who, loss_reason::taken);
}

}  // namespace pawl::runtime
