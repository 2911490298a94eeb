#include <pawl/lease.hpp>

#include "base/ensure.hpp"
#include "net/remote_operation.hpp"
#include "runtime/engine.hpp"
#include "runtime/link.hpp"

namespace pawl {
namespace {

using runtime::engine;
using runtime::lease_state;

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
    if (held_) engine::let_go(std::move(held_));
}

const std::string& lease::key() const { return held_->key; }
const std::string& lease::owner() const { return held_->owner; }
fence_token lease::token() const { return held_->token; }
bool lease::trusted() const { return held_->trusted(held_->now()); }
instant lease::trusted_until() const { return held_->trust_end(); }
std::stop_token lease::stop_token() const { return held_->stop.get_token(); }
std::optional<loss_reason> lease::lost() const { return held_->lost(); }
void lease::mark_done() { held_->done.store(true, std::memory_order_release); }
void lease::mark_not_started() { held_->not_started.store(true, std::memory_order_release); }

lease lease::share() const {
    base::ensure(held_ != nullptr);
    base::ensure(held_->add_handle());
    return lease{held_};
}

bool lease::renew() {
    const auto [where, what] = held_->home->get();
    if (where == nullptr) return false;
    return where->wait_for(engine::renew(what, held_)) == renewal::renewed;
}

boost::asio::awaitable<bool> lease::async_renew() {
    const auto [where, what] = held_->home->get();
    if (where == nullptr) co_return false;
    auto renewing = engine::renew(what, held_);
    const auto answer = co_await net::await_on(*where, std::move(renewing));
    co_return answer == renewal::renewed;
}

void lease::watch_deadline(deadline_watch watch) {
    held_->home->with([&](net::loop& where, const std::shared_ptr<engine>&) {
        boost::asio::post(where.get_executor(), [who = held_, heard = std::move(watch)]() mutable {
            who->watch = std::move(heard);
            if (who->watch) who->watch(who->beat.stop_at(), who->beat.trust_end());
        });
    });
}

release_outcome lease::release() {
    base::ensure(held_ != nullptr);
    auto who = std::move(held_);
    if (--who->handles > 0) return release_outcome::released;
    const auto [where, what] = who->home->get();
    if (where == nullptr) return release_outcome::unknown;
    return where->wait_for(engine::release(what, std::move(who)));
}

boost::asio::awaitable<release_outcome> lease::async_release() {
    base::ensure(held_ != nullptr);
    auto who = std::move(held_);
    if (--who->handles > 0) co_return release_outcome::released;
    const auto [where, what] = who->home->get();
    if (where == nullptr) co_return release_outcome::unknown;
    auto releasing = engine::release(what, std::move(who));
    co_return co_await net::await_on(*where, std::move(releasing));
}

}  // namespace pawl
