#include "admin/claim_desk.hpp"

#include "net/unattended.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace pawl::admin {
namespace {

using boost::asio::awaitable;
using leasing::claiming;
using leasing::nanos;

// How long to rely on the TTL alone where the store has no push.
constexpr millis poll_without_push{1'000};
// What is given back is asked for so often; then the TTL does it (rule 13).
constexpr int give_back_attempts = 2;

// Ends early when the place is called off.
awaitable<void> pause(std::shared_ptr<runtime::place_in_line> place, instant until) {
    if (place->called_off) co_return;
    auto waiting = place->timer.wait_until(until);
    co_await std::move(waiting);
}

class counted {
public:
    explicit counted(std::size_t& what) : what_{what} { ++what_; }
    ~counted() { --what_; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;

private:
    std::size_t& what_;
};

}  // namespace

// What one claim needs while it goes on. Lives in its coroutine.
struct claim_desk::errand {
    errand(claim_desk& home, std::shared_ptr<const client_claim> what)
        : wanted{std::move(what)},
          id{wanted->id ? *wanted->id : home.ids_.next()},
          began{lease_clock::now()},
          place{std::make_shared<runtime::place_in_line>(home.engine()->executor())} {}

    bool is_clients_own() const { return wanted->id.has_value(); }

    std::shared_ptr<const client_claim> wanted;
    std::string id;
    instant began;
    std::shared_ptr<runtime::place_in_line> place;
};

claim_desk::claim_desk(runtime::core& where)
    : core_{&where}, gate_{std::make_shared<runtime::gate>(where.loop().get_executor())} {}

awaitable<client_outcome> claim_desk::ask(std::shared_ptr<claim_desk> self,
                                          std::shared_ptr<const client_claim> wanted) {
    errand todo{*self, std::move(wanted)};
    const auto call_off = [executor = self->engine()->executor(), place = todo.place] {
        boost::asio::post(executor, [place] { place->call_off(); });
    };
    const std::stop_callback on_gone{todo.wanted->gone, call_off};
    const auto wait = todo.wanted->wait;
    std::optional<counted> waiter;
    std::optional<runtime::ticket> turn;
    if (wait.count() > 0) {
        if (self->waiting_ >= claim_waiters_max) co_return crowded{};
        waiter.emplace(self->waiting_);
        auto line = self->gate_->enter(todo.wanted->key, wait, todo.place);
        turn = co_await std::move(line);
    }
    if (todo.wanted->gone.stop_requested()) co_return client_gone{};
    leasing::claim_plan plan;
    plan.how = leasing::rhythm_of(todo.wanted->how);
    // Whoever's turn did not come takes the one look that is left.
    if (turn) plan.wait = std::max(nanos{0}, nanos{wait} - (lease_clock::now() - todo.began));
    plan.settle = self->engine()->settings().timeout * 2;
    plan.poll = self->engine()->store().traits().notifies ? millis{0} : poll_without_push;
    auto driving = drive(self, todo, plan);
    auto outcome = co_await std::move(driving);
    const auto* won = std::get_if<client_grant>(&outcome);
    if (won == nullptr || !todo.wanted->gone.stop_requested() || todo.is_clients_own())
        co_return outcome;
    // Before the next in line asks.
    auto giving = give_back(self, won->what.key, won->what.token);
    co_await std::move(giving);
    co_return client_gone{};
}

awaitable<client_outcome> claim_desk::drive(std::shared_ptr<claim_desk> self, errand& todo,
                                            leasing::claim_plan plan) {
    claiming machine{plan, lease_clock::now()};
    for (;;) {
        if (todo.place->called_off) machine.cancel();
        const auto step = machine.next(lease_clock::now());
        switch (step.what) {
            case claiming::act::send: {
                claim asked{todo.wanted->key, todo.id, todo.wanted->owner, todo.wanted->how.ttl};
                asked.firing = todo.wanted->how.firing;
                asked.mode = todo.wanted->how.mode;
                machine.sent(lease_clock::now());
                auto asking = self->engine()->store().acquire(std::move(asked));
                auto answer = co_await std::move(asking);
                machine.answered(std::move(answer), lease_clock::now(), self->chance());
                break;
            }
            case claiming::act::listen: {
                const auto longest =
                    std::max(std::chrono::ceil<millis>(step.until - lease_clock::now()), millis{0});
                auto listening = runtime::engine::await_change(
                    self->engine(), todo.wanted->key, machine.seen(), longest, todo.wanted->gone);
                co_await std::move(listening);
                machine.woken(lease_clock::now());
                break;
            }
            case claiming::act::pause: {
                auto pausing = pause(todo.place, step.until);
                co_await std::move(pausing);
                machine.woken(lease_clock::now());
                break;
            }
            case claiming::act::withdraw:
                if (!todo.is_clients_own()) {
                    withdrawal given_up{todo.wanted->key, todo.id, todo.wanted->how.firing};
                    const auto until =
                        self->engine()->worth_withdrawing(machine.attempts(), todo.wanted->how);
                    boost::asio::co_spawn(
                        self->engine()->executor(),
                        runtime::engine::withdraw(self->engine(), std::move(given_up), until),
                        net::unattended{});
                }
                machine.withdrawn();
                break;
            case claiming::act::await:
            case claiming::act::done: {
                const auto& outcome = machine.outcome();
                if (const auto* won = std::get_if<leasing::granted>(&outcome)) {
                    const auto waited = std::chrono::floor<millis>(won->sent - todo.began);
                    co_return client_grant{won->what, waited};
                }
                if (const auto* other = std::get_if<busy>(&outcome)) co_return *other;
                if (const auto* done = std::get_if<already_done>(&outcome)) co_return *done;
                if (const auto* why = std::get_if<failure>(&outcome)) co_return *why;
                co_return client_gone{};
            }
        }
    }
}

awaitable<void> claim_desk::give_back(std::shared_ptr<claim_desk> self, std::string key,
                                      fence_token token) {
    for (int attempt = 0; attempt < give_back_attempts; ++attempt) {
        auto releasing = self->engine()->store().release(key, token, farewell{});
        const auto gone = co_await std::move(releasing);
        if (gone.has_value()) co_return;
        self->engine()->report_failure("release", gone.error());
    }
}

}  // namespace pawl::admin
