#include "net/change_listener.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <chrono>
#include <utility>

namespace pawl::net {
namespace {

// A server that takes connections and ends them is no better than one that takes none.
constexpr std::chrono::seconds settled_after{5};

}  // namespace

// ---- Who waits

void change_listener::join(change_watch& who) {
    const auto [at, is_first] = places_.try_emplace(who.name_);
    auto& where = at->second;
    where.watches.push_back(&who);
    if (is_first) {
        where.number = ++numbers_;
        name_came(at->first, where);
    } else if (where.confirmed) {
        who.become(change_watch::state::confirmed);
    }
    if (running_ || closed_) return;
    running_ = true;
    boost::asio::co_spawn(executor_, run(shared_from_this()), boost::asio::detached);
}

void change_listener::leave(change_watch& who) {
    const auto at = places_.find(who.name_);
    if (at == places_.end()) return;
    std::erase(at->second.watches, &who);
    if (!at->second.watches.empty()) return;
    const auto last = places_.extract(at);
    if (!closed_) name_left(last.key(), last.mapped());
}

// ---- The connection

boost::asio::awaitable<void> change_listener::run(std::shared_ptr<change_listener> self) {
    while (self->has_work()) {
        auto opening = self->open();
        const auto opened = co_await std::move(opening);
        if (self->closed_) break;
        if (opened.has_error()) {
            self->retire_attempt(opened.error());
            if (!self->has_work()) break;
            auto pausing = self->reconnects_now_.wait_until(self->not_before_);
            co_await std::move(pausing);
            continue;
        }
        const auto begun = timers::of(self->executor_).now();
        auto listening = self->listen();
        co_await std::move(listening);
        self->lose();
        if (!self->has_work()) break;
        if (timers::of(self->executor_).now() - begun >= settled_after) {
            self->retries_.succeeded();
            continue;
        }
        self->back_off();
        auto pausing = self->reconnects_now_.wait_until(self->not_before_);
        co_await std::move(pausing);
    }
    self->running_ = false;
}

// Those who wait are told at once when trying again does not help.
void change_listener::retire_attempt(const failure& why) {
    back_off();
    for (auto& [name, where] : places_)
        for (auto* who : where.watches) who->why_ = why;
    if (!may_pass(why)) reject_all(why);
}

void change_listener::back_off() {
    not_before_ = timers::of(executor_).now() + retries_.failed();
    reconnects_now_.reset();
}

// The change that everybody waited for may be among what was lost.
void change_listener::lose() {
    disconnect();
    for (auto& [name, where] : places_)
        if (std::exchange(where.confirmed, false)) tell(where);
}

void change_listener::close() {
    closed_ = true;
    disconnect();
    reconnect_now();
}

void change_listener::close_from_anywhere() {
    attachment_->post([self = shared_from_this()] { self->close(); });
}

// ---- What the server says

void change_listener::confirm(place& where) {
    where.confirmed = true;
    for (auto* who : where.watches) who->become(change_watch::state::confirmed);
}

void change_listener::tell(place& where) {
    for (auto* who : where.watches) who->become(change_watch::state::notified);
}

void change_listener::reject(place& where, const failure& why) {
    for (auto* who : where.watches) {
        who->why_ = why;
        who->become(change_watch::state::rejected);
    }
}

void change_listener::reject_all(const failure& why) {
    for (auto& [name, where] : places_) reject(where, why);
}

// ---- One who waits

change_watch::change_watch(std::shared_ptr<change_listener> on, std::string name)
    : on_{std::move(on)}, name_{std::move(name)} {
    on_->join(*this);
}

change_watch::~change_watch() { on_->leave(*this); }

void change_watch::become(state next) {
    // What is over stays over.
    if (state_ == state::notified || state_ == state::rejected) return;
    state_ = next;
    moved_.notify_all();
}

async<void> change_watch::confirmed() {
    if (state_ == state::requested) {
        auto waiting = moved_.wait_for(on_->confirmation_bound());
        co_await std::move(waiting);
    }
    if (state_ == state::requested) co_return why_.value_or(on_->unconfirmed());
    if (state_ == state::rejected) co_return *why_;
    co_return result<void>{};
}

async<void> change_watch::notified() {
    if (state_ == state::confirmed) {
        auto waiting = moved_.wait();
        co_await std::move(waiting);
    }
    if (state_ == state::rejected) co_return *why_;
    co_return result<void>{};
}

}  // namespace pawl::net
