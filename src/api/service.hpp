// The API and the web UI of one agent: listens, answers, and ends after the agent.
#pragma once

#include "agent/systemd_notice.hpp"
#include "api/api.hpp"
#include "api/auth/authorizer.hpp"
#include "api/request/context.hpp"
#include "config/settings.hpp"
#include "http/server.hpp"
#include "net/event.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::api {

// A port that another process has, such as the agent that this one replaces, is asked for again.
constexpr millis listen_retry{1'000};
constexpr millis stop_timeout{2'000};
constexpr millis audit_head_interval = std::chrono::minutes{10};

struct service_parts {
    shared_context around{};
    config::agent_settings configured{};
    std::vector<config::user_settings> users{};
    std::vector<agent::inherited_socket> sockets{};  // listened on instead, where there are any
    std::function<http::response(const http::request&)> page{};
    // A login link, for people, and what more can be made with; never for a log.
    std::function<void(const login_key& key, std::string_view link)> show_link{};
};

// On the loop of its context only, but for replace_users.
// What is wrong with its certificate and key, in one line; nothing where it has none, or may not
// read them. An agent that starts with such files ends.
std::optional<std::string> tls_fault(const config::agent_settings& configured);

class service : public std::enable_shared_from_this<service> {
public:
    explicit service(service_parts made_of);

    // `denied`: a certificate or an address that cannot be had, ever. A port that is taken is asked
    // for in the background: jobs run without the API meanwhile.
    static async<void> start(std::shared_ptr<service> self);
    static boost::asio::awaitable<bool> stop(std::shared_ptr<service> self);

    // Thread-safe.
    void replace_users(std::vector<config::user_settings> users);

private:
    http::server_parts parts_of_server();
    result<void> listen_once();
    void listening(std::uint16_t port);
    static boost::asio::awaitable<void> keep_trying(std::shared_ptr<service> self);
    // Logs the head of the audit, by which it is found later that entries were cut off.
    static boost::asio::awaitable<void> note_audit_head(std::shared_ptr<service> self);
    std::string url(std::uint16_t port) const;
    void log(log_level how, std::string_view line) const;

    // Constant after construction
    service_parts parts_;
    std::shared_ptr<authorizer> auth_;
    std::shared_ptr<api> api_;
    const std::shared_ptr<std::weak_ptr<service>> home_ =
        std::make_shared<std::weak_ptr<service>>();
    // State
    std::unique_ptr<http::server> server_;
    net::event ended_;
};

// How others reach the API that listens there; the host's name where it listens everywhere.
std::string address_of(const config::agent_settings& configured);

}  // namespace pawl::api
