#include <pawl/lease.hpp>

#include "runtime/await_there.hpp"
#include "runtime/last_handle.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace pawl {
namespace {

using boost::asio::awaitable;
using runtime::engine;
using runtime::last_handle;
using runtime::lease_state;

awaitable<bool> renew_on_loop(std::shared_ptr<lease_state> who) {
    if (!who) co_return false;
    auto way = who->home->enter();
    if (!way) co_return false;
    auto renewing = engine::renew(way->running(), {std::move(who)});
    auto awaiting = runtime::await_there(std::move(way), std::move(renewing));
    try {
        const auto answer = co_await std::move(awaiting);
        co_return answer == renewal::renewed;
    } catch (const store_error&) {
        co_return false;  // the loop went away meanwhile
    }
}

awaitable<release_outcome> release_on_loop(last_handle last) {
    auto who = last.take();
    auto way = who->home->enter();
    if (!way) co_return release_outcome::unknown;
    auto releasing = engine::release(way->running(), std::move(who));
    auto awaiting = runtime::await_there(std::move(way), std::move(releasing));
    try {
        co_return co_await std::move(awaiting);
    } catch (const store_error&) {
        co_return release_outcome::unknown;  // the loop went away meanwhile
    }
}

awaitable<release_outcome> answer(release_outcome known) { co_return known; }

}  // namespace

lease::lease(std::shared_ptr<lease_state> held) : held_{std::move(held)} {}

lease::~lease() { let_go(); }

lease& lease::operator=(lease&& other) noexcept {
    if (this == &other) return *this;
    let_go();
    held_ = std::move(other.held_);
    return *this;
}

void lease::let_go() noexcept {
    if (!held_) return;
    if (held_->is_forked_child())
        net::keep_for_ever(std::move(held_));
    else
        engine::let_go(std::move(held_));
}

lease_state& lease::state() const {
    if (!held_)
        throw std::logic_error{
            "this lease handle is empty: it was released or moved from; test it before you use it"};
    return *held_;
}

const std::string& lease::key() const& { return state().key; }
const std::string& lease::owner() const& { return state().owner; }
fence_token lease::token() const { return state().token; }
bool lease::valid() const { return held_ && held_->valid(held_->now()); }
instant lease::valid_until() const { return held_ ? held_->valid_until() : instant::min(); }
void lease::mark_done() { state().done.store(true, std::memory_order_release); }
void lease::mark_not_started() { state().not_started.store(true, std::memory_order_release); }

std::stop_token lease::stop_token() const {
    if (held_ && !held_->is_forked_child()) return held_->stop.get_token();
    std::stop_source fired;
    fired.request_stop();
    return fired.get_token();
}

std::optional<loss_reason> lease::lost() const {
    return held_ ? held_->lost(held_->now()) : std::nullopt;
}

lease lease::share() const {
    auto& shared = state();
    if (shared.is_forked_child()) throw std::logic_error{net::opened_before_fork};
    shared.add_handle();
    return lease{held_};
}

bool lease::renew() {
    if (!held_) return false;
    return runtime::wait_at(*held_->home, renewal::unknown, [&](const auto& what) {
               return engine::renew(what, {held_});
           }) == renewal::renewed;
}

awaitable<bool> lease::async_renew() { return renew_on_loop(held_); }

void lease::watch_deadline(deadline_watch watch) {
    if (state().is_forked_child()) return;
    const bool ends = !watch;
    // The watch may end this handle, and with it the lease.
    const auto who = held_;
    who->watch.replace(std::move(watch));
    if (ends) return;
    const auto now = who->now();
    // Of one that is lost already no loop tells anything more, and it may not be there.
    if (who->lost()) return who->watch.tell(now, now);
    who->home->with([&](net::loop& where, const std::shared_ptr<engine>&) {
        boost::asio::post(where.get_executor(), [who] { who->tell_deadlines(); });
    });
}

release_outcome lease::release() {
    if (state().is_forked_child()) {
        let_go();
        return release_outcome::lost;
    }
    auto who = std::move(held_);
    if (!who->drop_handle()) return release_outcome::still_shared;
    const auto home = who->home;
    // Released in the background where this is no place to wait, which is thrown.
    last_handle last{who};
    const auto outcome = runtime::wait_at(*home, release_outcome::unknown, [&](const auto& what) {
        return engine::release(what, std::move(who));
    });
    last.take();
    return outcome;
}

awaitable<release_outcome> lease::async_release() {
    if (state().is_forked_child()) {
        let_go();
        return answer(release_outcome::lost);
    }
    auto who = std::move(held_);
    if (!who->drop_handle()) return answer(release_outcome::still_shared);
    return release_on_loop(last_handle{std::move(who)});
}

}  // namespace pawl
