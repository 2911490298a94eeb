// Authentication and authorization of requests: who sends one, and whether their role allows it.
//
// Programs say it with a bearer token, the web UI with a session cookie (HttpOnly, SameSite=Strict)
// that it gets for such a token, or for a login link that works once. What is done by cookie has to
// carry the session's own token in X-Pawl-Session as well, which another site cannot know. It is
// told at the log-in alone: browsers send the cookie to every port of its host, and a server at
// another one that could ask for the token would have the whole session.
#pragma once

#include "api/auth/login_link.hpp"
#include "api/request/call.hpp"
#include "config/settings.hpp"
#include "net/loop.hpp"
#include "schedule/dispatcher.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pawl::api {

using admission = std::variant<caller, http::response>;

// Rejections of one address are audited at most that often.
constexpr millis rejection_audit_interval{60'000};

// On its loop only, but for replace_users. The loop outlives it.
class authorizer {
public:
    struct parts {
        net::loop* loop = nullptr;
        std::vector<config::user_settings> users{};
        bool secure = false;  // over TLS: cookies say so
        // Browsers send cookies to every port of a host: agents of one host that are used at the
        // same time need names of their own.
        std::string cookie = "pawl_session";
        // A fresh login link, for people, and what more can be made with. Never for a log.
        std::function<void(const login_key& key, std::string_view link)> show_link{};
        std::function<void(log_level, std::string_view)> log{};
        // Audits a log-in, or a rejection of one.
        std::function<void(std::string actor, std::string action, std::string detail)> audit{};
    };
    explicit authorizer(parts made_of);
    ~authorizer();

    // Thread-safe. Sessions and cached tokens of users that have gone or changed end with it.
    void replace_users(std::vector<config::user_settings> users);

    // The caller, or a problem: 401 (with WWW-Authenticate), 403, 429 (with Retry-After).
    boost::asio::awaitable<admission> admit(std::shared_ptr<const http::request> request,
                                            access needs);
    // For an answer that goes on: whether the caller would still be let in. At once, and a use
    // that keeps a session from ending idle.
    bool still_admits(const http::request& request, access needs);

    // POST, GET and DELETE /api/v1/session, and GET /login.
    routes session_routes();

    bool has_users() const;
    // Of the web UI, for login links: http://127.0.0.1:7295.
    void set_origin(std::string url);
    // Where no user is configured, shows a fresh login link through parts.show_link; it works once,
    // for a quarter of an hour, from this machine only. When one has been used the next is shown.
    void show_login_link();

private:
    class state;
    std::shared_ptr<state> state_;
};

}  // namespace pawl::api
