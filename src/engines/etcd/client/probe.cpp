#include "engines/etcd/client/probe.hpp"

#include "base/ascii.hpp"
#include "base/duration.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "net/byte_stream.hpp"
#include "net/callback_timer.hpp"
#include "net/look_up.hpp"
#include "net/tls.hpp"
#include "time/clocks.hpp"
#include "time/http_date.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace pawl::etcd {
namespace {

constexpr std::size_t answer_max = std::size_t{16} * 1024;

int number_in(std::string_view text) { return base::leading_number<int>(text).value_or(-1); }

// The value of a header, whose name is given in small letters.
std::string_view header_in(std::string_view head, std::string_view name) {
    while (!head.empty()) {
        const auto end = head.find("\r\n");
        const auto line = head.substr(0, end);
        const auto colon = line.find(':');
        if (colon == name.size() && base::equals_ignoring_case(line.substr(0, colon), name)) {
            auto value = line.substr(colon + 1);
            while (value.starts_with(' ')) value.remove_prefix(1);
            return value;
        }
        if (end == std::string_view::npos) break;
        head.remove_prefix(end + 2);
    }
    return {};
}

std::string_view word_after(std::string_view text, std::string_view field) {
    const auto at = text.find(field);
    if (at == std::string_view::npos) return {};
    const auto begin = text.find('"', at + field.size());
    if (begin == std::string_view::npos) return {};
    const auto end = text.find('"', begin + 1);
    return end == std::string_view::npos ? std::string_view{}
                                         : text.substr(begin + 1, end - begin - 1);
}

// Whether no more need be read: a server of something else may well keep the connection open.
bool is_whole(std::string_view answer) {
    constexpr std::string_view http = "HTTP/1.";
    const auto size = std::min(answer.size(), http.size());
    if (answer.substr(0, size) != http.substr(0, size)) return true;
    const auto end = answer.find("\r\n\r\n");
    if (end == std::string_view::npos) return false;
    const auto length = header_in(answer.substr(0, end), "content-length");
    if (length.empty()) return !answer.starts_with("HTTP/1.1 200");
    return answer.size() >= end + 4 + static_cast<std::size_t>(std::max(number_in(length), 0));
}

// Ends the work of a stream when its time is up; part of the frame of a probe.
struct alarm {
    alarm(const std::shared_ptr<net::byte_stream>& stream, const net::loop::executor_type& executor,
          instant deadline)
        : timer{executor}, late{std::make_shared<bool>(false)} {
        timer.call_at(deadline, [stream = std::weak_ptr{stream}, late = late] {
            const auto alive = stream.lock();
            if (!alive) return;
            *late = true;
            alive->close();
        });
    }
    net::callback_timer timer;
    std::shared_ptr<bool> late;
};

// Answers the address that it came to.
async<std::string> connect(std::shared_ptr<net::byte_stream> stream, base::endpoint where,
                           const etcd_settings& settings, net::loop::executor_type executor,
                           std::string known, instant deadline) {
    const auto port = where.port == 0 ? default_port : where.port;
    auto looking = net::look_up(executor, known.empty() ? where.host : std::move(known), deadline);
    const auto addresses = co_await std::move(looking);
    if (addresses.has_error()) co_return addresses.error();
    std::string reached;
    failure last{errc::unreachable, "the name has no address"};
    for (const auto& address : *addresses) {
        const auto text = address.to_string();
        const auto connected = co_await stream->connect_tcp(text, port);
        if (connected.has_value()) {
            reached = text;
            break;
        }
        last = connected.error();
    }
    if (reached.empty()) co_return last;
    if (!settings.tls) co_return reached;
    auto context = net::make_tls_context(*settings.tls);
    if (context.has_error()) co_return context.error();
    auto expected = settings.tls->server_name.empty() ? where.host : settings.tls->server_name;
    const auto secured = co_await stream->start_tls(*context, std::move(expected));
    if (secured.has_error()) co_return secured.error();
    co_return reached;
}

async<std::string> ask_version(std::shared_ptr<net::byte_stream> stream, base::endpoint where) {
    const auto request = "GET /version HTTP/1.1\r\nHost: " + where.host +
                         "\r\nUser-Agent: pawl\r\nConnection: close\r\n\r\n";
    boost::system::error_code error;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    co_await stream->send_all(boost::asio::buffer(request), token);
    std::string answer;
    std::array<char, 2048> some;
    while (!error && answer.size() < answer_max && !is_whole(answer)) {
        const auto got = co_await stream->receive_some(boost::asio::buffer(some), token);
        answer.append(some.data(), got);
    }
    const bool ended = error == boost::asio::error::eof ||
                       error == boost::asio::ssl::error::stream_truncated ||
                       error == boost::asio::error::connection_reset;
    if (!answer.empty()) co_return answer;
    if (auto rejected = stream->explain_alert(error)) co_return std::move(*rejected);
    co_return failure{errc::unreachable,
                      ended ? "closed the connection before it answered" : error.message()};
}

}  // namespace

// ---- The clock

clock_reading::clock_reading(std::chrono::seconds date, instant sent, instant received)
    : date_{date}, sent_{sent}, received_{received} {}

micros clock_reading::earliest(instant now) const noexcept {
    return date_ + std::chrono::floor<micros>(now - received_);
}

micros clock_reading::latest(instant now) const noexcept {
    const auto late = date_ + std::chrono::seconds{1} + std::chrono::ceil<micros>(now - sent_);
    return std::min(late, earliest(now) + reading_width_max);
}

micros clock_reading::likely(instant now) const noexcept {
    return std::clamp(time::wall_now().time_since_epoch(), earliest(now), latest(now));
}

clock_reading read_own_clock() {
    const auto now = lease_clock::now();
    return {std::chrono::floor<std::chrono::seconds>(time::wall_now().time_since_epoch()), now,
            now};
}

// ---- The answer

// 3.4 is the first whose watches may be named by their client, and the oldest that is tested.
std::optional<failure> reject_old(const std::string& place, std::string_view version) {
    const auto dot = version.find('.');
    const auto major = number_in(version);
    const auto minor = dot == std::string_view::npos ? -1 : number_in(version.substr(dot + 1));
    if (major > 3 || (major == 3 && minor >= 4)) return std::nullopt;
    return failure{errc::unsupported, place + ": etcd " + base::printable(version) +
                                          " is too old: pawl needs 3.4 or newer"};
}

std::optional<version_answer> parse_version_answer(std::string_view text) {
    if (!text.starts_with("HTTP/1.1 200")) return std::nullopt;
    const auto end = text.find("\r\n\r\n");
    if (end == std::string_view::npos) return std::nullopt;
    const auto date = time::parse_http_date(header_in(text.substr(0, end), "date"));
    const auto version = word_after(text.substr(end), "\"etcdserver\":");
    if (!date || version.empty()) return std::nullopt;
    return version_answer{std::string{version}, *date};
}

async<node_facts> probe(net::loop::executor_type executor, base::endpoint where,
                        const etcd_settings& settings, instant deadline, std::string address) {
    const auto place = place_of(where);
    const auto begun = lease_clock::now();
    auto stream = std::make_shared<net::byte_stream>(executor);
    const alarm expiry{stream, executor, deadline};
    const auto explain = [&](const failure& why) {
        if (!*expiry.late) {
            const bool closed = why.code == errc::unreachable &&
                                why.detail.find("closed the connection") != std::string::npos;
            const auto* hint =
                settings.tls ? " (a plain port wants etcd://)" : " (a TLS port wants etcds://)";
            if (!closed) hint = "";
            return failure{why.code, place + ": " + why.detail + hint};
        }
        const auto waited = std::chrono::round<millis>(deadline - begun);
        return failure{errc::unreachable,
                       place + ": no answer within " + base::format_duration(waited)};
    };
    auto connecting = connect(stream, where, settings, executor, std::move(address), deadline);
    const auto connected = co_await std::move(connecting);
    if (connected.has_error()) co_return explain(connected.error());
    const auto sent = lease_clock::now();
    const auto got = co_await ask_version(stream, where);
    if (got.has_error()) co_return explain(got.error());
    const auto answer = parse_version_answer(*got);
    if (!answer) {
        const bool wants_tls = !settings.tls && got->find("HTTPS server") != std::string::npos;
        co_return failure{errc::protocol,
                          place +
                              " does not speak etcd's protocol: no version of an etcd at "
                              "/version" +
                              (wants_tls ? " (a TLS port wants etcds://)" : "")};
    }
    if (auto old = reject_old(place, answer->version)) co_return std::move(*old);
    node_facts facts{
        answer->version, *connected, clock_reading{answer->date, sent, lease_clock::now()}, {}};
    if (stream->is_secure()) facts.tls = stream->examine_tls();
    stream->close();
    co_return facts;
}

}  // namespace pawl::etcd
