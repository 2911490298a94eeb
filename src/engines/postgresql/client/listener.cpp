#include "engines/postgresql/client/listener.hpp"

#include "base/digest.hpp"
#include "base/duration.hpp"
#include "base/hex.hpp"
#include "base/identity.hpp"
#include "engines/postgresql/client/error_mapping.hpp"
#include "net/callback_timer.hpp"
#include "net/timer.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace pawl::postgresql {
namespace {

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
    made->attach_to(where);
    return made;
}

listener::listener(net::loop& where, std::shared_ptr<const postgresql_settings> settings,
                   std::shared_ptr<pool> asking)
    : change_listener{where},
      loop_{where},
      settings_{std::move(settings)},
      target_{target_of(settings_)},
      server_{place_of(*target_)},
      channel_{channel_of(settings_->common.name_space)},
      asking_{std::move(asking)} {}

bool listener::is_deaf() const noexcept {
    return !settings_->listens || lease_clock::now().time_since_epoch().count() < deaf_until_;
}

failure listener::unconfirmed() const {
    return {errc::unreachable,
            server_ + ": no LISTEN within " + base::format_duration(confirmation_bound())};
}

// Connecting, listening and hearing.
millis listener::confirmation_bound() const { return settings_->common.timeout + hearing_bound; }

bool listener::may_pass(const failure& why) const { return pawl::may_pass(why.code); }

void listener::name_came(const std::string&, place& where) {
    if (hears_) confirm(where);
}

// ---- The connection

async<void> listener::open() {
    auto on = std::make_shared<wire>(loop_);
    on_ = on;
    const auto timeout = settings_->common.timeout;
    net::callback_timer expiry{executor_};
    expiry.call_after(timeout, [on] { on->close(); });
    auto dialling = wire::connect(on, target_, lease_clock::now() + timeout);
    const auto connected = co_await std::move(dialling);
    if (connected.has_error()) {
        on->close();
        co_return connected.error();
    }
    on->leaves("UNLISTEN " + channel_);
    auto asking = wire::query(on, "LISTEN " + channel_);
    const auto told = co_await std::move(asking);
    expiry.cancel();
    if (told.has_error() || !told->sqlstate.empty() || !on->is_open()) {
        auto why = told.has_error() ? told.error()
                                    : explain_error(on->place(), told->sqlstate, told->message);
        on->close();
        co_return why;
    }
    co_return result<void>{};
}

boost::asio::awaitable<void> listener::listen() {
    const auto on = on_;
    probe_ = "probe " + base::fresh_id();
    boost::asio::co_spawn(executor_,
                          probe(std::static_pointer_cast<listener>(shared_from_this()), probe_),
                          boost::asio::detached);
    while (!is_closed() && on->is_open()) {
        while (auto* note = PQnotifies(on->handle())) {
            const std::unique_ptr<PGnotify, void (*)(void*)> owned{note, PQfreemem};
            take(note->extra);
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
    if (self->is_closed() || self->probe_ != word) co_return;
    if (sent.has_error()) {
        // The server has other troubles, of which the callers hear: another connection, another
        // try.
        self->on_->close();
        co_return;
    }
    auto pause = net::sleep_for(hearing_bound);
    co_await std::move(pause);
    if (!self->is_closed() && self->probe_ == word) self->turn_deaf();
}

void listener::disconnect() {
    probe_.clear();
    hears_ = false;
    if (on_) on_->close();
}

void listener::loop_ends() {
    change_listener::loop_ends();
    if (on_) on_->close();
    on_.reset();
}

// ---- What the server says

void listener::take(std::string_view payload) {
    if (!probe_.empty() && payload == probe_) return stand();
    const auto key = base::from_hex(payload);
    if (!key) return;
    const auto told = places_.find(*key);
    if (told != places_.end()) tell(told->second);
}

void listener::stand() {
    probe_.clear();
    hears_ = true;
    for (auto& [key, where] : places_) confirm(where);
}

void listener::turn_deaf() {
    deaf_until_ = (lease_clock::now() + deaf_for).time_since_epoch().count();
    reject_all({errc::unsupported, server_ +
                                       ": notifications do not arrive, as behind a pooler: "
                                       "waiters poll (give notify= the server's own address)"});
    on_->close();
}

}  // namespace pawl::postgresql
