// One connection as a stream of bytes: TCP or a Unix socket, with or without TLS.
#pragma once

#include "base/descriptor.hpp"
#include "net/event.hpp"
#include "net/loop.hpp"
#include "net/tls.hpp"

#include <pawl/spi/async.hpp>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::net {

// Used on its loop only. Must outlive the operations it has begun; close() ends them soon.
class byte_stream final : private io_object {
public:
    using executor_type = loop::executor_type;
    // Not of a type-erased executor: it saves about a tenth of a small request.
    using socket_type = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol,
                                                         loop::io_executor_type>;

    explicit byte_stream(const executor_type& executor)
        : io_object{executor}, executor_{executor}, socket_{executor} {}

    // Each has no timeout of its own: close() ends it. After close() they fail.
    async<void> connect_tcp(std::string host, std::uint16_t port);
    // To the first of them that answers.
    async<void> connect_to_any(std::vector<boost::asio::ip::tcp::endpoint> among);
    async<void> connect_unix(std::string path);
    // A connected socket of another's making, which is this stream's from then on. At once.
    result<void> adopt(base::descriptor connected);
    // REQUIRES: connected, nothing sent yet.
    async<void> start_tls(std::shared_ptr<boost::asio::ssl::context> context,
                          std::string server_name);

    bool is_secure() const noexcept { return tls_.has_value(); }
    bool is_open() const noexcept { return socket_.is_open(); }
    // Where it leads, such as 10.0.0.7:6379 or the path of a socket; empty where that has no name.
    std::string peer() const;
    // Nothing waits to be read, not even the end: what a connection between two requests looks like
    // while its peer keeps it. REQUIRES: no operation is under way.
    bool is_quiet() noexcept;
    // How long the peer's certificate is still valid. REQUIRES: is_secure().
    finding examine_tls() { return examine_peer(tls_->native_handle()); }

    // Hands over what the kernel takes at once, without a round through the reactor.
    // REQUIRES: !is_secure().
    std::size_t send_now(std::string_view bytes, boost::system::error_code& error);

    // handler(error_code) once more bytes can be handed over.
    template <class Handler>
    void when_writable(Handler handler) {
        socket_.async_wait(socket_type::wait_write, std::move(handler));
    }

    // Sends all; `bytes` must stay as they are until then.
    template <class Token>
    auto send_all(boost::asio::const_buffer bytes, Token&& token) {
        return tls_ ? boost::asio::async_write(*tls_, bytes, std::forward<Token>(token))
                    : boost::asio::async_write(socket_, bytes, std::forward<Token>(token));
    }

    template <class Token>
    auto receive_some(boost::asio::mutable_buffer into, Token&& token) {
        return tls_ ? tls_->async_read_some(into, std::forward<Token>(token))
                    : socket_.async_read_some(into, std::forward<Token>(token));
    }

    // What an error of the stream says about certificates, if it does: a server of TLS 1.3 rejects
    // a client's only after the handshake.
    std::optional<failure> explain_alert(const boost::system::error_code& error);

    void close() noexcept;

private:
    // Its timers let go of a look-up.
    void context_ends() noexcept override { close_socket(); }
    void close_socket() noexcept;
    // False: it did not answer within `timeout`.
    async<bool> try_connect(boost::asio::generic::stream_protocol::endpoint where,
                            std::optional<std::chrono::nanoseconds> timeout);

    const executor_type executor_;
    socket_type socket_;
    std::shared_ptr<boost::asio::ssl::context> context_;
    std::optional<boost::asio::ssl::stream<socket_type&>> tls_;
    bool closed_ = false;
    event interrupted_;  // notified when it is closed: a look-up has no other end
};

}  // namespace pawl::net
