#include "net/https/exchange.hpp"

#include "base/ascii.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace pawl::net {
namespace {

std::string bracketed(const std::string& host) {
    return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

std::string host_and_port(const https_settings& settings) {
    return bracketed(settings.host) + ":" + std::to_string(settings.port);
}

// No byte of it would end a line, or the head.
bool is_one_line(std::string_view text) {
    return text.find_first_of(std::string_view{"\r\n\0", 3}) == std::string_view::npos;
}

bool has_field(const http_fields& fields, std::string_view name) {
    return std::any_of(fields.begin(), fields.end(), [&](const auto& one) {
        return base::equals_ignoring_case(one.first, name);
    });
}

failure at(const connection_plan& plan, const failure& why) {
    return {why.code, plan.place + ": " + why.detail};
}

result<std::shared_ptr<boost::asio::ssl::context>> trust_of(connection_plan& plan) {
    if (plan.trust) return plan.trust;
    auto made = make_tls_context(plan.settings.tls);
    if (made.has_error()) return at(plan, made.error());
    plan.trust = *made;
    return made;
}

failure explain_proxy(const connection_plan& plan, unsigned status) {
    const auto said = plan.place + ": the proxy answers " + std::to_string(status);
    if (status == 407) return {errc::denied, said + ": it wants other credentials"};
    if (status == 403) return {errc::denied, said + ": it does not let this host be asked"};
    return {errc::unreachable, said};
}

// The way through the proxy to the host.
async<void> ask_proxy(std::shared_ptr<connection> on, std::string authorization) {
    const auto& plan = *on->plan;
    const auto where = host_and_port(plan.settings);
    auto asking = std::make_shared<exchange>(answer_shape::headless, 0);
    asking->only_reads = true;
    asking->text = "CONNECT " + where + " HTTP/1.1\r\nHost: " + where + "\r\n";
    if (!authorization.empty()) asking->text += "Proxy-Authorization: " + authorization + "\r\n";
    asking->text += "\r\n";
    boost::system::error_code error;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    const auto stream = on->stream;
    if (!stream) co_return failure{errc::unreachable, "closed"};
    co_await stream->send_all(boost::asio::buffer(asking->text), token);
    if (error) co_return failure{errc::unreachable, plan.place + ": the proxy: " + error.message()};
    while (!asking->reader.is_whole()) {
        auto receiving = receive(on, asking);
        const auto broken = co_await std::move(receiving);
        if (broken) co_return failure{broken->code, broken->detail + " (from the proxy)"};
    }
    const auto status = asking->reader.status();
    if (status < 200 || status > 299) co_return explain_proxy(plan, status);
    co_return result<void>{};
}

async<void> establish(std::shared_ptr<connection> on) {
    auto& plan = *on->plan;
    const auto stream = on->stream;
    if (!stream) co_return failure{errc::unreachable, "closed"};
    if (plan.proxy && plan.proxy->has_error()) co_return at(plan, plan.proxy->error());
    auto host = plan.proxy ? plan.proxy->value().host : plan.settings.host;
    const auto port = plan.proxy ? plan.proxy->value().port : plan.settings.port;
    auto connecting = stream->connect_tcp(std::move(host), port);
    const auto connected = co_await std::move(connecting);
    if (connected.has_error()) {
        const auto* who = plan.proxy ? "the proxy: " : "";
        co_return at(plan, {connected.error().code, who + connected.error().detail});
    }
    if (!plan.settings.secure) co_return result<void>{};
    if (plan.proxy) {
        auto asking = ask_proxy(on, (*plan.proxy)->authorization);
        const auto let_through = co_await std::move(asking);
        if (let_through.has_error()) co_return let_through.error();
    }
    auto trust = trust_of(plan);
    if (trust.has_error()) co_return trust.error();
    const auto& named = plan.settings.tls.server_name;
    auto securing = stream->start_tls(*trust, named.empty() ? plan.settings.host : named);
    const auto secured = co_await std::move(securing);
    if (secured.has_error()) {
        plan.trust.reset();
        co_return at(plan, secured.error());
    }
    plan.certificate = stream->examine_tls();
    co_return result<void>{};
}

// Its failure, if it ended with one.
boost::asio::awaitable<std::optional<failure>> send(std::shared_ptr<connection> on,
                                                    std::shared_ptr<exchange> what) {
    const auto stream = on->stream;
    if (!stream || !stream->is_open()) co_return failure{errc::unreachable, "closed"};
    what->asked = on->plan->where.now();
    what->sent = true;
    boost::system::error_code error;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    co_await stream->send_all(boost::asio::buffer(what->text), token);
    if (!error) co_return std::nullopt;
    if (const auto alert = stream->explain_alert(error))
        co_return explain(*on->plan, *what, alert->code, alert->detail);
    co_return explain(*on->plan, *what, errc::unreachable,
                      "the connection broke: " + error.message());
}

}  // namespace

std::shared_ptr<connection_plan> plan_connections(loop& where, https_settings settings) {
    auto place = (settings.secure ? "https://" : "http://") + host_and_port(settings);
    auto proxy = settings.proxy.empty() ? std::nullopt : std::optional{parse_proxy(settings.proxy)};
    return std::make_shared<connection_plan>(connection_plan{
        where, std::move(settings), std::move(proxy), std::move(place), nullptr, std::nullopt});
}

std::string host_field(const https_settings& settings) {
    const int own_port = settings.secure ? 443 : 80;
    return settings.port == own_port ? bracketed(settings.host) : host_and_port(settings);
}

result<std::string> text_of_request(const connection_plan& plan, const https_request& request) {
    const auto& settings = plan.settings;
    bool plain = is_one_line(request.method) && is_one_line(request.target);
    auto text = request.method + " ";
    const bool by_proxy = plan.proxy && plan.proxy->has_value();
    const bool through_proxy = by_proxy && !settings.secure;
    if (through_proxy) text += "http://" + host_and_port(settings);
    text += request.target + " HTTP/1.1\r\nHost: " + host_field(settings) + "\r\n";
    if (!has_field(request.fields, "user-agent")) text += "User-Agent: pawl\r\n";
    if (through_proxy && !(*plan.proxy)->authorization.empty())
        text += "Proxy-Authorization: " + (*plan.proxy)->authorization + "\r\n";
    for (const auto& [name, value] : request.fields) {
        plain = plain && is_one_line(name) && is_one_line(value);
        text.append(name).append(": ").append(value).append("\r\n");
    }
    if (!plain)
        return failure{errc::unsupported,
                       plan.place + ": a field of the request has more than one line"};
    if (!request.body.empty() || (request.method != "GET" && request.method != "HEAD"))
        text += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
    return text + "Connection: keep-alive\r\n\r\n" + request.body;
}

failure explain(const connection_plan& plan, const exchange& what, errc code,
                const std::string& detail) {
    const bool is_unknown = what.sent && !what.only_reads && code != errc::denied;
    return {is_unknown ? errc::outcome_unknown : code, plan.place + ": " + detail};
}

boost::asio::awaitable<std::optional<failure>> receive(std::shared_ptr<connection> from,
                                                       std::shared_ptr<exchange> what) {
    const auto& plan = *from->plan;
    const auto stream = from->stream;
    if (!stream || !stream->is_open())
        co_return explain(plan, *what, errc::unreachable, "the connection was closed");
    boost::system::error_code error;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    const auto size = co_await stream->receive_some(boost::asio::buffer(from->piece), token);
    if (error == boost::asio::error::eof || error == boost::asio::ssl::error::stream_truncated) {
        // An answer without a length ends with its connection. Where TLS did not say so it may have
        // been cut.
        const bool is_end = error == boost::asio::error::eof;
        const auto fault = what->reader.take_end();
        if (is_end && fault.empty()) co_return std::nullopt;
        co_return explain(plan, *what, errc::unreachable,
                          what->reader.has_begun() ? "the connection was closed within an answer"
                                                   : "the connection was closed without an answer");
    }
    if (error) {
        if (const auto alert = stream->explain_alert(error))
            co_return explain(plan, *what, alert->code, alert->detail);
        co_return explain(plan, *what, errc::unreachable,
                          "the connection broke: " + error.message());
    }
    const auto fault = what->reader.take({from->piece.data(), size});
    if (fault.empty()) co_return std::nullopt;
    co_return explain(plan, *what, errc::protocol, "the answer " + fault);
}

boost::asio::awaitable<void> carry(std::shared_ptr<connection> over,
                                   std::shared_ptr<exchange> what) {
    if (!over->established) {
        auto establishing = establish(over);
        const auto established = co_await std::move(establishing);
        if (established.has_error()) {
            what->why = established.error();
            what->over.set();
            co_return;
        }
        over->established = true;
    }
    auto sending = send(over, what);
    what->why = co_await std::move(sending);
    const auto& reader = what->reader;
    const bool is_endless = reader.shape() == answer_shape::endless;
    while (!what->why && !(is_endless ? reader.has_head() : reader.is_whole())) {
        auto receiving = receive(over, what);
        what->why = co_await std::move(receiving);
    }
    what->answered = over->plan->where.now();
    what->over.set();
}

}  // namespace pawl::net
