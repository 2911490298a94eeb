#include "stores/postgresql/listener.hpp"

#include "base/digest.hpp"
#include "base/duration.hpp"
#include "base/hex.hpp"
#include "base/identity.hpp"
#include "stores/postgresql/refusals.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>

namespace pawl::postgresql {
namespace {

constexpr millis backoff_min{10};
constexpr millis backoff_max{1000};
// How long a notification that the server has sent may be on its way, and how long a connection
// that lost one is left alone.
constexpr millis hearing_bound{1000};
constexpr millis deaf_for{60'000};

// As the function announce of schema.sql names it: a name has 63 bytes at most, a namespace 64.
std::string channel_of(const std::string& name_space) {
    return "pawl_" + base::sha256_hex(name_space).substr(0, 16);
}

std::shared_ptr<const connection_target> target_of(
    const std::shared_ptr<const postgresql_settings>& settings) {
    const auto& elsewhere = settings->notified_by;
    return {settings, elsewhere ? &*elsewhere : &settings->servers};
}

std::shared_ptr<const statement_text> probe_text() {
    static const auto text = std::make_shared<const statement_text>("SELECT pg_notify($1, $2)");
    return text;
}

}  // namespace

std::shared_ptr<listener> listener::make(net::loop& where,
                                         std::shared_ptr<const postgresql_settings> settings,
                                         std::shared_ptr<pool> asking) {
    auto made = std::make_shared<listener>(where, std::move(settings), std::move(asking));
    made->attachment_ = net::attach(where.context(), made);
    return made;
}

listener::listener(net::loop& where, std::shared_ptr<const postgresql_settings> settings,
                   std::shared_ptr<pool> asking)
    : settings_{std::move(settings)},
      target_{target_of(settings_)},
      place_{place_of(*target_)},
      channel_{channel_of(settings_->common.name_space)},
      executor_{where.get_executor()},
      asking_{std::move(asking)},
      backoff_{executor_},
      random_{std::random_device{}()} {}

bool listener::is_deaf() const noexcept {
    return !settings_->listens || lease_clock::now().time_since_epoch().count() < deaf_until_;
}

// ---- Who waits

void listener::join(watcher& who) {
    watchers_[who.key_].push_back(&who);
    if (hears_) who.become(watcher::state::confirmed);
    if (running_ || closed_) return;
    running_ = true;
    boost::asio::co_spawn(executor_, run(shared_from_this()), boost::asio::detached);
}

void listener::leave(watcher& who) {
    const auto place = watchers_.find(who.key_);
    if (place == watchers_.end()) return;
    std::erase(place->second, &who);
    if (place->second.empty()) watchers_.erase(place);
}

// ---- The connection

boost::asio::awaitable<void> listener::run(std::shared_ptr<listener> self) {
    while (self->has_work()) {
        auto opening = open(self);
        const auto opened = co_await std::move(opening);
        if (self->closed_) break;
        if (opened.has_error()) {
            self->retire_attempt(opened.error());
            if (self->has_work()) co_await self->backoff_->wait();
            continue;
        }
        auto listening = listen(self);
        co_await std::move(listening);
        self->lose();
    }
    self->running_ = false;
}

async<void> listener::open(std::shared_ptr<listener> self) {
    auto on = std::make_shared<wire>(self->executor_);
    self->on_ = on;
    const auto timeout = self->settings_->common.timeout;
    boost::asio::steady_timer patience{self->executor_, timeout};
    patience.async_wait([on](boost::system::error_code cancelled) {
        if (!cancelled) on->close();
    });
    auto dialling = wire::connect(on, self->target_, lease_clock::now() + timeout);
    const auto connected = co_await std::move(dialling);
    if (connected.has_error()) {
        on->close();
        co_return connected.error();
    }
    auto asking = wire::query(on, "LISTEN " + self->channel_);
    const auto told = co_await std::move(asking);
    patience.cancel();
    if (told.has_error() || !told->sqlstate.empty() || !on->is_open()) {
        auto why = told.has_error() ? told.error()
                                    : explain_error(on->place(), told->sqlstate, told->message);
        on->close();
        co_return why;
    }
    self->attempts_failed_ = 0;
    co_return result<void>{};
}

// Until the connection is lost, or is of no use.
boost::asio::awaitable<void> listener::listen(std::shared_ptr<listener> self) {
    const auto on = self->on_;
    self->probe_ = "probe " + base::fresh_id();
    boost::asio::co_spawn(self->executor_, probe(self, self->probe_), boost::asio::detached);
    while (!self->closed_ && on->is_open()) {
        while (auto* note = PQnotifies(on->handle())) {
            const std::unique_ptr<PGnotify, void (*)(void*)> owned{note, PQfreemem};
            self->take(note->extra);
        }
        boost::system::error_code error;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
        co_await on->wait_readable(token);
        if (error || !on->is_open() || PQconsumeInput(on->handle()) != 1) co_return;
    }
}

// Through the pool, because a pooler would pass on what a session tells itself.
boost::asio::awaitable<void> listener::probe(std::shared_ptr<listener> self, std::string word) {
    statement note{probe_text()};
    note.add_text(self->channel_).add_text(word);
    auto asking = self->asking_->ask(std::move(note));
    const auto sent = co_await std::move(asking);
    if (self->closed_ || self->probe_ != word) co_return;
    if (sent.has_error()) {
        // The server has other troubles, of which the callers hear: another connection, another
        // try.
        self->on_->close();
        co_return;
    }
    boost::asio::steady_timer patience{self->executor_, hearing_bound};
    boost::system::error_code ignored;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, ignored);
    co_await patience.async_wait(token);
    if (!self->closed_ && self->probe_ == word) self->turn_deaf();
}

// Trying again may help or not: those who wait are told at once when it will not.
void listener::retire_attempt(const failure& why) {
    const auto step =
        std::min<millis>(backoff_max, backoff_min * (1 << std::min(attempts_failed_, 7u)));
    ++attempts_failed_;
    std::uniform_int_distribution<millis::rep> spread{step.count() / 2, step.count()};
    backoff_->set(lease_clock::now() + millis{spread(random_)});
    for (auto& [key, waiting] : watchers_)
        for (auto* who : waiting) {
            who->why_ = why;
            if (!may_pass(why)) who->become(watcher::state::failed);
        }
}

// ---- What the server says

void listener::take(std::string_view payload) {
    if (!probe_.empty() && payload == probe_) return stand();
    const auto key = base::from_hex(payload);
    if (!key) return;
    const auto place = watchers_.find(*key);
    if (place == watchers_.end()) return;
    for (auto* who : place->second) who->become(watcher::state::rung);
}

void listener::stand() {
    probe_.clear();
    hears_ = true;
    for (auto& [key, waiting] : watchers_)
        for (auto* who : waiting) who->become(watcher::state::confirmed);
}

void listener::turn_deaf() {
    deaf_until_ = (lease_clock::now() + deaf_for).time_since_epoch().count();
    for (auto& [key, waiting] : watchers_)
        for (auto* who : waiting) {
            who->why_ = failure{errc::unsupported,
                                place_ +
                                    ": notifications do not arrive, as behind a pooler: "
                                    "waiters poll (give notify= the server's own address)"};
            who->become(watcher::state::failed);
        }
    on_->close();
}

// The hint that everybody waited for may be among what was lost.
void listener::lose() {
    probe_.clear();
    on_->close();
    if (!std::exchange(hears_, false)) return;
    for (auto& [key, waiting] : watchers_)
        for (auto* who : waiting) who->become(watcher::state::rung);
}

void listener::close() {
    closed_ = true;
    if (on_) on_->close();
    backoff_->wake();
}

void listener::close_from_anywhere() {
    attachment_->post([self = shared_from_this()] { self->close(); });
}

void listener::loop_ends() {
    // A store may outlive its loop; what does I/O must not.
    closed_ = true;
    if (on_) on_->close();
    on_.reset();
    backoff_.reset();
}

// ---- One who waits

watcher::watcher(std::shared_ptr<listener> on, std::string key)
    : on_{std::move(on)}, key_{std::move(key)}, bell_{on_->executor_} {
    on_->join(*this);
}

watcher::~watcher() { on_->leave(*this); }

void watcher::become(state next) {
    // What is over stays over.
    if (state_ == state::rung || state_ == state::failed) return;
    state_ = next;
    bell_.cancel();
}

boost::asio::awaitable<result<void>> watcher::confirmed() {
    // Connecting, listening and hearing.
    const auto bound = on_->settings_->common.timeout + hearing_bound;
    if (state_ == state::asked) {
        bell_.expires_after(bound);
        boost::system::error_code ended;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, ended);
        co_await bell_.async_wait(token);
        if (!ended && state_ == state::asked)
            co_return why_.value_or(failure{errc::unreachable, on_->place_ + ": no LISTEN within " +
                                                                   base::format_duration(bound)});
    }
    if (state_ == state::failed) co_return *why_;
    co_return result<void>{};
}

boost::asio::awaitable<result<void>> watcher::rung() {
    if (state_ == state::confirmed) {
        bell_.expires_at(boost::asio::steady_timer::time_point::max());
        boost::system::error_code ended;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, ended);
        co_await bell_.async_wait(token);
    }
    if (state_ == state::failed) co_return *why_;
    co_return result<void>{};
}

}  // namespace pawl::postgresql
