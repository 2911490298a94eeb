#include "api/service.hpp"

#include "api/jobs/run_output.hpp"
#include "api/locks/lease_service.hpp"
#include "api/monitoring/live_routes.hpp"
#include "api/request/problem.hpp"
#include "api/route_caches.hpp"
#include "base/ascii.hpp"
#include "base/reserved_names.hpp"
#include "http/certificate.hpp"
#include "net/timer.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <utility>

namespace pawl::api {
namespace {

using boost::asio::awaitable;

// Browsers send a cookie to every port of its host: agents that share one need names of their own.
std::string cookie_of(const config::agent_settings& configured) {
    std::string name = "pawl_session";
    if (configured.listen == config::agent_settings{}.listen) return name;
    name += '_';
    for (const char c : configured.name) name += base::is_alphanumeric(c) ? c : '-';
    return name;
}

std::string bracketed(const std::string& host) {
    return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

std::string scheme_of(const config::agent_settings& configured) {
    return configured.tls ? "https://" : "http://";
}

bool is_everywhere(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

std::string words_of(const audit_meter::left_out& what) {
    return "and " + std::to_string(what.count) + " more within a minute, which are not listed";
}

// What was only counted, where its minute will not be over. A journal that is away is not waited
// for once for each.
awaitable<void> tell_counted(shared_context around) {
    const auto end = around->core->loop().now() + stop_timeout;
    bool told = true;
    for (auto& one : around->remembered->often.take_over(instant::max())) {
        auto detail = words_of(one);
        if (!told || around->core->loop().now() >= end) {
            if (around->log)
                around->log(log_level::error,
                            one.action + " of '" + one.actor + "' was not audited: " + detail);
            continue;
        }
        auto telling =
            audit(around, std::move(one.actor), std::move(one.action), "", std::move(detail));
        told = co_await std::move(telling);
    }
}

}  // namespace

std::string address_of(const config::agent_settings& configured) {
    const auto& where = configured.listen;
    // Any free port is known when it is had, and of use on this machine only.
    if (where.port == 0) return "";
    return scheme_of(configured) +
           bracketed(is_everywhere(where.host) ? runtime::host_name() : where.host) + ":" +
           std::to_string(where.port);
}

service::service(service_parts made_of) : parts_{std::move(made_of)} {
    authorizer::parts auth;
    auth.loop = &parts_.around->core->loop();
    auth.users = parts_.users;
    auth.secure = parts_.configured.tls.has_value();
    auth.cookie = cookie_of(parts_.configured);
    auth.log = parts_.around->log;
    auth.show_link = parts_.show_link;
    auth.audit = [around = parts_.around](std::string actor, std::string action,
                                          std::string detail) {
        audit_often(around, std::move(actor), std::move(action), around->node_name,
                    std::move(detail));
    };
    auth_ = std::make_shared<authorizer>(std::move(auth));
    api::parts made;
    made.around = parts_.around;
    made.auth = auth_;
    made.metrics_need =
        parts_.configured.metrics == config::metrics_access::open ? access::open : access::viewer;
    made.secure = parts_.configured.tls.has_value();
    made.page = parts_.page;
    made.hosts = parts_.configured.hosts;
    made.hosts.push_back(parts_.configured.listen.host);
    // A request may outlive the server.
    made.counted = [home = home_] {
        const auto living = home->lock();
        return living && living->server_ ? living->server_->counts() : http::server_counts{};
    };
    api_ = std::make_shared<api>(std::move(made));
}

void service::log(log_level how, std::string_view line) const {
    if (parts_.around->log) parts_.around->log(how, line);
}

http::server_parts service::parts_of_server() {
    http::server_parts made;
    made.executor = parts_.around->core->loop().get_executor();
    // Each of them takes the room of a request for as long as it goes on. Those that look on or
    // wait leave room for those that act, and for those that ask whether the agent is well.
    made.bounds.requests_max += viewers_max + followers_max + claim_waiters_max;
    made.answer = [api = api_](std::shared_ptr<const http::request> asked) {
        return api::answer(api, std::move(asked));
    };
    made.reject = [api = api_](unsigned status, std::string_view detail) {
        return api->reject(status, detail);
    };
    made.warn = [around = parts_.around](std::string_view line) {
        if (around->log) around->log(log_level::warn, line);
    };
    return made;
}

std::string service::url(std::uint16_t port) const {
    const auto& host = parts_.configured.listen.host;
    return scheme_of(parts_.configured) +
           bracketed(is_everywhere(host) ? runtime::host_name() : host) + ":" +
           std::to_string(port);
}

void service::listening(std::uint16_t port) {
    const auto where = url(port);
    log(log_level::info, "listening on " + where);
    auth_->set_origin(where);
    // Users may have come, or gone, while the port was another process's.
    auth_->show_login_link();
}

result<void> service::listen_once() {
    const auto& where = parts_.configured.listen;
    for (const auto& socket : parts_.sockets)
        if (auto listening = server_->listen_on(socket.descriptor); listening.has_error())
            return listening.error();
    if (!parts_.sockets.empty()) {
        listening(where.port);
        return boost::system::in_place_value;
    }
    auto port = server_->listen(where.host, where.port);
    if (port.has_error()) return port.error();
    listening(*port);
    return boost::system::in_place_value;
}

std::optional<std::string> tls_fault(const config::agent_settings& configured) {
    if (!configured.tls) return std::nullopt;
    const auto opened = http::certificate::open({configured.tls->cert, configured.tls->key}, {});
    if (opened.has_error()) return opened.error().detail;
    return std::nullopt;
}

async<void> service::start(std::shared_ptr<service> self) {
    auto& me = *self;
    *me.home_ = self;
    me.server_ = std::make_unique<http::server>(me.parts_of_server());
    if (const auto& tls = me.parts_.configured.tls) {
        const auto ready = me.server_->use_tls({tls->cert, tls->key});
        if (ready.has_error()) co_return ready.error();
    }
    const auto had = me.listen_once();
    if (had.has_error()) {
        if (had.error().code != errc::unreachable) co_return had.error();
        me.log(log_level::error,
               had.error().detail + ": running jobs without the API, and retrying");
        boost::asio::co_spawn(me.parts_.around->core->loop().get_executor(), keep_trying(self),
                              boost::asio::detached);
    }
    me.parts_.around->instruments->start_sampling(me.parts_.around->core->loop());
    if (me.parts_.around->records)
        boost::asio::co_spawn(me.parts_.around->core->loop().get_executor(), note_audit_head(self),
                              boost::asio::detached);
    co_return boost::system::in_place_value;
}

awaitable<void> service::keep_trying(std::shared_ptr<service> self) {
    auto& me = *self;
    for (;;) {
        auto waiting = me.ended_.wait_for(listen_retry);
        const bool ended = co_await std::move(waiting);
        if (ended || me.listen_once().has_value()) co_return;
    }
}

// A journal that does not answer is told elsewhere.
awaitable<void> service::note_audit_head(std::shared_ptr<service> self) {
    auto& me = *self;
    std::uint64_t noted = 0;
    while (!me.ended_.is_set()) {
        auto reading = me.parts_.around->records->list_audit(0, 1);
        const auto newest = co_await std::move(reading);
        if (newest.has_value() && !newest->empty() && newest->front().sequence != noted) {
            noted = newest->front().sequence;
            me.log(log_level::info, "audit head noted sequence=" + std::to_string(noted) +
                                        " hash=" + newest->front().hash);
        }
        auto waiting = me.ended_.wait_for(audit_head_interval);
        co_await std::move(waiting);
    }
}

awaitable<bool> service::stop(std::shared_ptr<service> self) {
    self->ended_.set();
    if (self->server_) {
        auto stopping = self->server_->stop(stop_timeout);
        co_await std::move(stopping);
    }
    auto telling = tell_counted(self->parts_.around);
    co_await std::move(telling);
    co_return true;
}

void service::replace_users(std::vector<config::user_settings> users) {
    auth_->replace_users(std::move(users));
}

awaitable<bool> audit(shared_context around, std::string actor, std::string action,
                      std::string target, std::string detail) {
    audit_draft what;
    what.actor = std::move(actor);
    what.action = std::move(action);
    what.target = std::move(target);
    what.detail = std::move(detail);
    const auto told = what.action + " of '" + what.target + "'";
    if (!around->records) {
        around->log(log_level::warn, told + " was not audited: this agent keeps no journal");
        co_return false;
    }
    auto appending = around->records->append_audit(std::move(what));
    const auto appended = co_await std::move(appending);
    if (appended.has_value()) co_return true;
    if (around->log)
        around->log(log_level::error, told + " was not audited: " + appended.error().detail);
    co_return false;
}

namespace {

void append_soon(const shared_context& around, std::string actor, std::string action,
                 std::string target, std::string detail) {
    boost::asio::co_spawn(
        around->core->loop().get_executor(),
        audit(around, std::move(actor), std::move(action), std::move(target), std::move(detail)),
        boost::asio::detached);
}

// Until nothing is only counted.
awaitable<void> tell_left_out(shared_context around) {
    auto& meter = around->remembered->often;
    net::timer timer{around->core->loop().get_executor()};
    for (auto end = meter.next_end(); end; end = meter.next_end()) {
        auto waiting = timer.wait_until(*end);
        co_await std::move(waiting);
        for (auto& one : meter.take_over(timer.now())) {
            auto detail = words_of(one);
            append_soon(around, std::move(one.actor), std::move(one.action), "", std::move(detail));
        }
    }
    around->remembered->tells_left_out = false;
}

}  // namespace

void audit_often(const shared_context& around, std::string actor, std::string action,
                 std::string target, std::string detail) {
    auto& kept = *around->remembered;
    // What stops a job, or recovery, is not hidden behind what was done before it: a lease. A
    // program may check a fence before each write, and that stops nothing.
    if ((base::is_reserved_name(target) && action.starts_with("lease.")) ||
        kept.often.admit(actor, action, around->core->loop().now()))
        return append_soon(around, std::move(actor), std::move(action), std::move(target),
                           std::move(detail));
    if (std::exchange(kept.tells_left_out, true)) return;
    boost::asio::co_spawn(around->core->loop().get_executor(), tell_left_out(around),
                          boost::asio::detached);
}

}  // namespace pawl::api
