#include "runtime/renewer.hpp"

#include "net/unattended.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <utility>

namespace pawl::runtime {
namespace {

using leasing::heartbeat;
using std::chrono::milliseconds;

// Leases that are due this soon ride along, as one request for many costs less than many.
constexpr leasing::nanos ride_along_max = milliseconds{25};

leasing::nanos ride_along(const lease_state& who) {
    return std::min<leasing::nanos>(ride_along_max, leasing::nanos{who.options.ttl} / 100);
}

// REQUIRES: it is lost.
loss_reason reason_at(const lease_state& who, instant now) {
    return static_cast<loss_reason>(static_cast<int>(who.beat.why(now)) - 1);
}

}  // namespace

renewer::renewer(boost::asio::any_io_executor executor, std::shared_ptr<lease_store> store,
                 std::shared_ptr<observer> watcher)
    : executor_{executor},
      store_{std::move(store)},
      watcher_{std::move(watcher)},
      timer_{executor},
      random_{net::timers::of(executor).seed()} {}

boost::asio::awaitable<void> renewer::run(std::shared_ptr<renewer> self) {
    for (;;) {
        self->set_timer();
        co_await self->timer_.wait();
        self->tick(self->timer_.now());
    }
}

void renewer::keep(std::shared_ptr<lease_state> who) {
    who->kept = true;
    schedule(who, who->beat.next(timer_.now()).until);
    set_timer();
}

void renewer::forget(const std::shared_ptr<lease_state>& who) {
    if (!who->kept) return;
    who->kept = false;
    queue_.erase(who);
}

void renewer::lose_all(loss_reason why) {
    const auto all = std::exchange(queue_, {});
    for (const auto& who : all) {
        if (who->handles.load(std::memory_order_acquire) > 0) lose(who, why);
    }
}

void renewer::lose(const std::shared_ptr<lease_state>& who, loss_reason why) {
    who->kept = false;
    who->end(why, timer_.now());
    if (watcher_) watcher_->on_lost(who->key, who->token, why);
}

// Its own callbacks may have let go of it in the meantime.
void renewer::schedule(const std::shared_ptr<lease_state>& who, instant when) {
    if (!who->kept) return;
    queue_.erase(who);
    who->scheduled = when;
    queue_.insert(who);
}

// A system call, so only when the earliest is sooner than what is set; a late one is harmless.
void renewer::set_timer() {
    if (queue_.empty()) return;
    const auto first = (*queue_.begin())->scheduled;
    if (first < timer_.when()) timer_.set(first);
}

void renewer::tick(instant now) {
    batch due;
    const auto flush = [&] {
        boost::asio::co_spawn(executor_, renew(shared_from_this(), std::exchange(due, {}), now),
                              net::unattended{});
    };
    batch near;
    while (!queue_.empty() && (*queue_.begin())->scheduled <= now + ride_along_max) {
        near.push_back(*queue_.begin());
        queue_.erase(queue_.begin());
    }
    for (const auto& who : near) {
        if (advance(who, now)) due.push_back(who);
        if (due.size() == renewal_batch_max) flush();
    }
    if (!due.empty()) flush();
}

bool renewer::advance(const std::shared_ptr<lease_state>& who, instant now) {
    bool renew_it = false;
    while (who->kept) {
        auto step = who->beat.next(now);
        // Riding along is for renewals only: a stop or a loss is never early.
        if (step.what == heartbeat::act::wait && step.until <= now + ride_along(*who)) {
            const auto early = who->beat.next(step.until);
            if (early.what == heartbeat::act::renew) step = early;
        }
        switch (step.what) {
            case heartbeat::act::renew:
                who->beat.renewal_sent(now, uniform());
                renew_it = true;
                continue;
            case heartbeat::act::stop:
                who->beat.stop_told();
                who->stop.request_stop();
                continue;
            case heartbeat::act::lose:
                lose(who, reason_at(*who, now));
                return false;
            case heartbeat::act::wait:
                schedule(who, step.until);
                return renew_it;
        }
    }
    return false;
}

void renewer::take_answer(const std::shared_ptr<lease_state>& who, instant sent, renewal answer) {
    if (!who->kept) return;
    const auto now = timer_.now();
    queue_.erase(who);
    who->beat.renewal_answered(sent, answer, now, uniform());
    if (watcher_) report_renewal(*who, answer, now);
    who->publish();
    // At once: who hears that a renewal was rejected is not to be told that the lease is valid.
    if (who->kept && !who->beat.valid(now)) return lose(who, reason_at(*who, now));
    schedule(who, who->beat.next(now).until);
}

void renewer::report_renewal(const lease_state& who, renewal answer, instant now) {
    const int failures = answer == renewal::lost ? 0 : who.beat.failures();
    watcher_->on_renew(who.key, answer == renewal::renewed, failures);
    if (answer == renewal::unknown && failures == who.options.max_renew_failures)
        watcher_->on_renewal_failures(who.key, failures,
                                      std::chrono::floor<millis>(who.beat.valid_until() - now));
}

boost::asio::awaitable<void> renewer::renew(std::shared_ptr<renewer> self, batch due,
                                            instant sent) {
    std::vector<held_lease> requests;
    requests.reserve(due.size());
    for (const auto& who : due) requests.push_back(who->request());
    const std::span<const held_lease> asked{requests};
    const auto answers = co_await self->store_->renew(asked);
    if (answers.has_error() && self->watcher_)
        self->watcher_->on_store_failure("renew", answers.error());
    for (std::size_t i = 0; i < due.size(); ++i) {
        const bool answered = answers.has_value() && i < answers->size();
        self->take_answer(due[i], sent, answered ? (*answers)[i] : renewal::unknown);
    }
    self->set_timer();
}

boost::asio::awaitable<renewal> renewer::renew_now(std::shared_ptr<renewer> self, batch all) {
    const auto sent = self->timer_.now();
    // What is lost is not kept from others any longer.
    const auto lost =
        std::erase_if(all, [&](const auto& who) { return !who->kept || !who->valid(sent); });
    auto worst = lost > 0 ? renewal::lost : renewal::renewed;
    if (all.empty()) co_return worst;
    std::vector<held_lease> requests;
    requests.reserve(all.size());
    for (const auto& who : all) {
        requests.push_back(who->request());
        who->beat.renewal_sent(sent, self->uniform());
    }
    const std::span<const held_lease> asked{requests};
    const auto answers = co_await self->store_->renew(asked);
    const bool answered = answers.has_value() && answers->size() == all.size();
    if (answers.has_error() && self->watcher_)
        self->watcher_->on_store_failure("renew", answers.error());
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto answer = answered ? (*answers)[i] : renewal::unknown;
        self->take_answer(all[i], sent, answer);
        // Trust that has ended never comes back, however late the good news is.
        if (answer == renewal::renewed && !all[i]->valid(self->timer_.now()))
            answer = renewal::lost;
        if (answer == renewal::lost || worst == renewal::renewed) worst = answer;
    }
    self->set_timer();
    co_return worst;
}

void renewer::lose_now(const std::shared_ptr<lease_state>& who, loss_reason why) {
    if (!who->kept) return;
    queue_.erase(who);
    lose(who, why);
}

}  // namespace pawl::runtime
