#include "net/byte_stream.hpp"

#include "base/ensure.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <vector>

namespace pawl::net {
namespace {

using boost::asio::ip::tcp;
using resolver_type = boost::asio::ip::basic_resolver<tcp, byte_stream::executor_type>;

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

async<void> byte_stream::connect_to(boost::asio::generic::stream_protocol::endpoint where) {
    boost::system::error_code error;
    // A name was being resolved when it was closed, or another address was tried.
    if (closed_) co_return failure{errc::unreachable, "the connection was closed"};
    socket_.close(error);
    socket_.open(where.protocol(), error);
    if (error) co_return failure{errc::unreachable, error.message()};
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    co_await socket_.async_connect(where, token);
    if (error) co_return failure{errc::unreachable, error.message()};
    socket_.non_blocking(true, error);
    co_return result<void>{};
}

async<void> byte_stream::connect_tcp(std::string host, std::uint16_t port) {
    std::vector<tcp::endpoint> endpoints;
    boost::system::error_code error;
    if (const auto address = boost::asio::ip::make_address(host, error); !error) {
        endpoints.emplace_back(address, port);
    } else {
        resolver_type resolver{socket_.get_executor()};
        error = {};
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
        const auto service = std::to_string(port);
        const auto found = co_await resolver.async_resolve(host, service, token);
        if (error) co_return failure{errc::unreachable, error.message()};
        for (const auto& entry : found) endpoints.push_back(entry.endpoint());
    }
    failure last{errc::unreachable, "the name has no address"};
    for (const auto& endpoint : endpoints) {
        boost::asio::generic::stream_protocol::endpoint where{endpoint};
        const auto connected = co_await connect_to(where);
        if (connected.has_value()) {
            tune_tcp(socket_.native_handle());
            co_return connected;
        }
        last = connected.error();
    }
    co_return last;
}

async<void> byte_stream::connect_unix(std::string path) {
    if (path.size() >= sizeof(sockaddr_un::sun_path))
        co_return failure{errc::unsupported, "the path of a Unix socket has at most 107 bytes"};
    boost::asio::local::stream_protocol::endpoint place{path};
    boost::asio::generic::stream_protocol::endpoint where{place};
    co_return co_await connect_to(where);
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

void byte_stream::close() noexcept {
    closed_ = true;
    boost::system::error_code ignored;
    socket_.close(ignored);
}

}  // namespace pawl::net
