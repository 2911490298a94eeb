#include "test_support/simulation/job.hpp"

#include "net/timer.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace pawl::simulation {
namespace {

using boost::asio::awaitable;
using runtime::engine;
using runtime::lease_state;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr nanos timeout_most = seconds{20};
constexpr nanos never = std::chrono::hours{1000};
// How often a claim is called off, and a lease is given back before anything is done under it.
constexpr double fickle = 0.05;

}  // namespace

awaitable<void> job::run(std::shared_ptr<job> self) {
    for (;;) {
        const auto rest = self->all_.random.between(milliseconds{1}, seconds{2});
        auto resting = net::sleep_for(rest);
        co_await std::move(resting);
        auto attempting = self->attempt();
        co_await std::move(attempting);
    }
}

// Mostly the occurrence that is due, at times the one before (a misfire) or the one to come.
std::optional<occurrence> job::choose_occurrence() {
    if (!plan_.has_occurrences) return std::nullopt;
    auto due = home_.wall().time_since_epoch() / plan_.period;
    const auto uniform = all_.random.fraction();
    if (uniform < 0.15) --due;
    if (uniform > 0.9) ++due;
    return occurrence{std::chrono::floor<millis>(due * plan_.period).count()};
}

wait_policy job::draw_wait_policy() {
    auto& random = all_.random;
    wait_policy how_long;
    if (random.happens(0.6))
        how_long.wait = std::chrono::floor<millis>(random.between(milliseconds{10}, timeout_most));
    if (random.happens(0.2)) how_long.retries = 2;
    return how_long;
}

void job::call_off_later(std::stop_source stop) {
    if (all_.random.happens(fickle))
        home_.after(all_.random.between(nanos{0}, seconds{5}),
                    [stop]() mutable { stop.request_stop(); });
}

awaitable<void> job::attempt() {
    auto options = plan_.options;
    options.occurrence = choose_occurrence();
    const auto how_long = draw_wait_policy();
    // It goes on asking a little after an answer was lost.
    expect_within(how_long.wait + all_.plan.settings.timeout * 4);
    std::stop_source stop;
    call_off_later(stop);
    auto asking =
        engine::acquire_with_reason(home_.engine(), plan_.key, options, how_long, stop.get_token());
    auto answer = co_await std::move(asking);
    answer_by_ = never;
    if (answer.has_error()) co_return;
    auto* won = std::get_if<std::shared_ptr<lease_state>>(&*answer);
    if (won == nullptr) co_return;
    lease held{std::move(*won)};
    if (held.valid() && !all_.random.happens(fickle)) {
        auto working = work_under(held, options.occurrence);
        co_await std::move(working);
    } else {
        held.mark_not_started();
    }
    auto ending = end(std::move(held));
    co_await std::move(ending);
}

awaitable<void> job::work_under(lease& held, std::optional<pawl::occurrence> occurrence) {
    auto& random = all_.random;
    all_.judge.note(home_.name(), " holds ", plan_.key, " under ", number(held.token()));
    if (occurrence) all_.judge.on_run(plan_.key, *occurrence, plan_.options.delivery);
    node::work doing{home_, held, held.stop_token()};
    const bool hangs = !all_.healthy && random.happens(plan_.hangs);
    auto until =
        hangs ? instant::max() : home_.now() + random.between(plan_.job_least, plan_.job_most);
    auto write_at = home_.now();
    bool told = false;
    while (held.valid() && home_.now() < until) {
        if (!std::exchange(told, held.stop_token().stop_requested()) && told && !hangs)
            until = std::min(until, home_.now() + random.between(nanos{0}, plan_.options.grace));
        if (home_.now() >= write_at) {
            if (random.happens(plan_.options.renew == renewal_mode::manual ? 0.5 : 0.1)) {
                auto renewing = held.async_renew();
                const bool renewed = co_await std::move(renewing);
                if (renewed && !held.valid())
                    all_.judge.broken(law::trust_stays_ended,
                                      plan_.key + " was renewed, says a lease that is over");
            }
            if (held.valid()) write_soon(held.token());
            write_at = home_.now() + random.between(plan_.options.ttl / 10, plan_.options.ttl / 2);
            continue;
        }
        auto waiting = doing.wait_until(std::min({until, write_at, held.valid_until()}));
        co_await std::move(waiting);
    }
    if (!held.valid() || !occurrence) co_return;
    held.mark_done();
    all_.judge.on_completion(plan_.key, *occurrence);
}

// A job checks that it still holds the key, and writes a moment later: rule 15 is for that moment.
void job::write_soon(fence_token token) {
    const auto write = [&all = all_, key = plan_.key, token] {
        all.store.write(key, token);
        all.audit(key);
    };
    home_.after(all_.random.between(nanos{0}, plan_.options.ttl / 10),
                [&all = all_, index = home_.index(), write] { all.carry(index, write); });
}

awaitable<void> job::end(lease held) {
    // Otherwise in the background, by the handle that goes.
    if (all_.random.happens(0.5)) {
        expect_within(all_.plan.settings.timeout * 4);
        auto releasing = held.async_release();
        co_await std::move(releasing);
        answer_by_ = never;
    }
}

}  // namespace pawl::simulation
