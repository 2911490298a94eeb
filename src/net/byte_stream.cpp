#include "net/byte_stream.hpp"

#include "base/ensure.hpp"
#include "net/callback_timer.hpp"
#include "net/look_up.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <vector>

namespace pawl::net {
namespace {

using boost::asio::ip::tcp;
using generic = boost::asio::generic::stream_protocol;

// As long as others wait before they try the next address as well (RFC 8305 has a quarter of a
// second).
constexpr std::chrono::nanoseconds first_timeout = std::chrono::milliseconds{300};

void set_option(int descriptor, int level, int name, int value) {
    // A kernel without the option works as well, only less promptly.
    ::setsockopt(descriptor, level, name, &value, sizeof value);
}

// A peer that vanished without a word is noticed after half a minute even when nothing is asked.
void tune_tcp(int descriptor) {
    set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 15);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace

async<bool> byte_stream::try_connect(generic::endpoint where,
                                     std::optional<std::chrono::nanoseconds> timeout) {
    boost::system::error_code error;
    // A name was being resolved when it was closed, or another address was tried.
    if (closed_) co_return failure{errc::unreachable, "the connection was closed"};
    socket_.close(error);
    socket_.open(where.protocol(), error);
    if (error) co_return failure{errc::unreachable, error.message()};
    // Whether it took too long. Gone once this is over: the alarm may be on its way by then.
    auto late = std::make_shared<bool>(false);
    std::optional<callback_timer> alarm;
    if (timeout)
        alarm.emplace(executor_).call_after(*timeout, [this, attempt = std::weak_ptr{late}] {
            const auto mine = attempt.lock();
            if (!mine) return;
            *mine = true;
            boost::system::error_code ignored;
            socket_.cancel(ignored);
        });
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    co_await socket_.async_connect(where, token);
    const bool was_late = *late;
    late.reset();
    if (error && was_late && !closed_) co_return false;
    if (error) co_return failure{errc::unreachable, error.message()};
    socket_.non_blocking(true, error);
    co_return true;
}

async<void> byte_stream::connect_to_any(std::vector<tcp::endpoint> among) {
    failure last{errc::unreachable, "the name has no address"};
    // An address may swallow all that is sent to it, as those of a family do that is not routed:
    // the next has its turn before the caller gives up, and a slow one another, longer turn.
    for (auto timeout = first_timeout; !among.empty(); timeout *= 2) {
        std::vector<tcp::endpoint> silent;
        for (const auto& endpoint : among) {
            const bool is_only_one = among.size() == 1;
            auto trying = try_connect(generic::endpoint{endpoint},
                                      is_only_one ? std::nullopt : std::optional{timeout});
            const auto connected = co_await std::move(trying);
            if (connected.has_error()) {
                last = connected.error();
            } else if (*connected) {
                tune_tcp(socket_.native_handle());
                co_return result<void>{};
            } else {
                silent.push_back(endpoint);
            }
        }
        among = std::move(silent);
    }
    co_return last;
}

async<void> byte_stream::connect_tcp(std::string host, std::uint16_t port) {
    if (closed_) co_return failure{errc::unreachable, "the connection was closed"};
    auto looking = look_up(executor_, std::move(host), instant::max(), interrupted_);
    const auto found = co_await std::move(looking);
    if (found.has_error()) co_return found.error();
    std::vector<tcp::endpoint> endpoints;
    for (const auto& address : *found) endpoints.emplace_back(address, port);
    auto connecting = connect_to_any(std::move(endpoints));
    co_return co_await std::move(connecting);
}

async<void> byte_stream::connect_unix(std::string path) {
    if (path.size() >= sizeof(sockaddr_un::sun_path))
        co_return failure{errc::unsupported, "the path of a Unix socket has at most 107 bytes"};
    boost::asio::local::stream_protocol::endpoint place{path};
    auto connecting = try_connect(generic::endpoint{place}, std::nullopt);
    const auto connected = co_await std::move(connecting);
    if (connected.has_error()) co_return connected.error();
    co_return result<void>{};
}

result<void> byte_stream::adopt(base::descriptor connected) {
    if (closed_) return failure{errc::unreachable, "the connection was closed"};
    const int number = connected.get();
    int kind = 0;
    socklen_t size = sizeof kind;
    if (::getsockopt(number, SOL_SOCKET, SO_TYPE, &kind, &size) != 0 || kind != SOCK_STREAM)
        return failure{errc::rejected, "is not a stream socket"};
    sockaddr_storage peer{};
    size = sizeof peer;
    if (::getpeername(number, reinterpret_cast<sockaddr*>(&peer), &size) != 0)
        return failure{errc::unreachable, "is not open"};
    boost::system::error_code error;
    socket_.assign(generic{peer.ss_family, 0}, number, error);
    if (error) {
        // It is in use already, and its owner closes it.
        if (error == boost::system::errc::file_exists) connected.release();
        return failure{errc::rejected, "cannot be used: " + error.message()};
    }
    ::fcntl(connected.release(), F_SETFD, FD_CLOEXEC);
    if (peer.ss_family == AF_INET || peer.ss_family == AF_INET6) tune_tcp(number);
    return {};
}

std::string byte_stream::peer() const {
    boost::system::error_code error;
    const auto end = socket_.remote_endpoint(error);
    if (error) return {};
    std::ostringstream text;
    const auto copy_to = [&](auto endpoint) {
        if (end.size() > endpoint.capacity()) return;
        std::memcpy(endpoint.data(), end.data(), end.size());
        endpoint.resize(end.size());
        text << endpoint;
    };
    if (end.data()->sa_family == AF_UNIX)
        copy_to(boost::asio::local::stream_protocol::endpoint{});
    else if (end.data()->sa_family == AF_INET || end.data()->sa_family == AF_INET6)
        copy_to(tcp::endpoint{});
    return text.str();
}

async<void> byte_stream::start_tls(std::shared_ptr<boost::asio::ssl::context> context,
                                   std::string server_name) {
    context_ = std::move(context);
    tls_.emplace(socket_, *context_);
    expect_peer(tls_->native_handle(), server_name);
    boost::system::error_code error;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    co_await tls_->async_handshake(boost::asio::ssl::stream_base::client, token);
    if (error) co_return explain_handshake(tls_->native_handle(), error);
    co_return result<void>{};
}

std::size_t byte_stream::send_now(std::string_view bytes, boost::system::error_code& error) {
    base::ensure(!is_secure());
    const auto sent =
        ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        error = {errno, boost::system::system_category()};
    return 0;
}

std::optional<failure> byte_stream::explain_alert(const boost::system::error_code& error) {
    if (!tls_ || error.category() != boost::asio::error::get_ssl_category()) return std::nullopt;
    return explain_handshake(tls_->native_handle(), error);
}

bool byte_stream::is_quiet() noexcept {
    if (!socket_.is_open()) return false;
    char one = 0;
    const auto got = ::recv(socket_.native_handle(), &one, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

void byte_stream::close_socket() noexcept {
    closed_ = true;
    boost::system::error_code ignored;
    socket_.close(ignored);
}

void byte_stream::close() noexcept {
    close_socket();
    // Last: where a guest ends, this may be the end of the stream.
    interrupted_.notify_all();
}

}  // namespace pawl::net
