// A small real server, whose answers are a function of what it is asked, and who asks it.
#pragma once

#include "net/https/https_pool.hpp"
#include "test_support/servers/certificates.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace pawl::net {

inline const testing_servers::certificates& files() {
    static const testing_servers::certificates made;
    return made;
}

// What a server says, and does then.
struct said {
    enum class then { keep, close, tunnel };
    std::string bytes;
    then next = then::keep;
};

inline std::string ok(const std::string& body, const std::string& fields = {}) {
    return "HTTP/1.1 200 OK\r\n" + fields + "Content-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
}

// Thread-safe; runs on a thread of its own until its end. Asked with the head and the body of a
// request and the number of its connection, from 1. An answer without bytes is none.
class small_server {
public:
    using script = std::function<said(const std::string& request, int connection)>;
    struct identity {
        std::string certificate;
        std::string key;
    };

    explicit small_server(script what, std::optional<identity> tls = std::nullopt)
        : script_{std::move(what)},
          acceptor_{context_, {boost::asio::ip::address_v4::loopback(), 0}} {
        if (tls) {
            trust_.emplace(boost::asio::ssl::context::tls_server);
            trust_->use_certificate_chain_file(tls->certificate);
            trust_->use_private_key_file(tls->key, boost::asio::ssl::context::pem);
        }
        boost::asio::co_spawn(context_, take_connections(), boost::asio::detached);
        thread_ = std::thread{[this] { context_.run(); }};
    }
    ~small_server() {
        context_.stop();
        thread_.join();
    }
    small_server(const small_server&) = delete;
    small_server& operator=(const small_server&) = delete;

    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
    int connections() const { return connections_; }
    std::vector<std::string> requests() const {
        const std::lock_guard lock{mutex_};
        return requests_;
    }
    // Closes all connections, and returns when they are closed.
    void close_all() {
        for_all([](auto& socket) { socket.close(); });
    }
    // Unasked, in the clear.
    void say_to_all(const std::string& bytes) {
        for_all([&](auto& socket) { boost::asio::write(socket, boost::asio::buffer(bytes)); });
    }

private:
    using tcp = boost::asio::ip::tcp;
    template <class T>
    using awaitable = boost::asio::awaitable<T>;
    using secure_stream = boost::asio::ssl::stream<tcp::socket&>;

    template <class Step>
    void for_all(Step step) {
        std::promise<void> done;
        boost::asio::post(context_, [&] {
            for (auto& [number, socket] : sockets_)
                if (socket->is_open()) step(*socket);
            done.set_value();
        });
        done.get_future().wait();
    }

    awaitable<void> take_connections() {
        for (;;) {
            boost::system::error_code error;
            auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
            auto client = co_await acceptor_.async_accept(token);
            if (error) co_return;
            auto kept = std::make_shared<tcp::socket>(std::move(client));
            const int number = ++connections_;
            sockets_[number] = kept;
            boost::asio::co_spawn(context_, serve(kept, number), boost::asio::detached);
        }
    }

    awaitable<void> serve(std::shared_ptr<tcp::socket> socket, int number) {
        if (!trust_) {
            co_await talk(*socket, *socket, number);
        } else {
            secure_stream stream{*socket, *trust_};
            boost::system::error_code error;
            auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
            co_await stream.async_handshake(boost::asio::ssl::stream_base::server, token);
            if (!error) co_await talk(stream, *socket, number);
        }
        boost::system::error_code ignored;
        socket->close(ignored);
    }

    static std::size_t length_in(const std::string& head) {
        const auto at = head.find("Content-Length: ");
        return at == std::string::npos ? 0 : std::stoul(head.substr(at + 16));
    }

    template <class Stream>
    awaitable<void> talk(Stream& stream, tcp::socket& socket, int number) {
        boost::system::error_code error;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
        std::string unread;
        for (;;) {
            auto buffer = boost::asio::dynamic_buffer(unread);
            const auto end =
                co_await boost::asio::async_read_until(stream, buffer, "\r\n\r\n", token);
            if (error) co_return;
            const auto whole = end + length_in(unread.substr(0, end));
            if (unread.size() < whole) {
                auto exactly = boost::asio::transfer_exactly(whole - unread.size());
                co_await boost::asio::async_read(stream, buffer, exactly, token);
                if (error) co_return;
            }
            const auto request = unread.substr(0, whole);
            unread.erase(0, whole);
            {
                const std::lock_guard lock{mutex_};
                requests_.push_back(request);
            }
            const auto answer = script_(request, number);
            co_await boost::asio::async_write(stream, boost::asio::buffer(answer.bytes), token);
            if (error || answer.next == said::then::close) co_return;
            if (answer.next == said::then::tunnel) {
                co_await tunnel(request, socket);
                co_return;
            }
        }
    }

    // As a proxy does, to the port that the request names, on this machine.
    awaitable<void> tunnel(std::string request, tcp::socket& socket) {
        const auto colon = request.find(':');
        const auto port = static_cast<std::uint16_t>(std::stoi(request.substr(colon + 1)));
        auto other = std::make_shared<tcp::socket>(context_);
        boost::system::error_code error;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
        const tcp::endpoint where{boost::asio::ip::address_v4::loopback(), port};
        co_await other->async_connect(where, token);
        if (error) co_return;
        auto back = [](std::shared_ptr<tcp::socket> from, tcp::socket& to) -> awaitable<void> {
            co_await pump(*from, to);
        };
        boost::asio::co_spawn(context_, back(other, socket), boost::asio::detached);
        co_await pump(socket, *other);
        other->close(error);
    }
    static awaitable<void> pump(tcp::socket& from, tcp::socket& to) {
        std::array<char, 4096> some;
        boost::system::error_code error;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
        while (!error) {
            const auto size = co_await from.async_read_some(boost::asio::buffer(some), token);
            if (error) co_return;
            co_await boost::asio::async_write(to, boost::asio::buffer(some, size), token);
        }
    }

    boost::asio::io_context context_{1};
    const script script_;
    tcp::acceptor acceptor_;
    std::optional<boost::asio::ssl::context> trust_;
    std::map<int, std::shared_ptr<tcp::socket>> sockets_;  // on the thread only
    std::atomic<int> connections_ = 0;
    mutable std::mutex mutex_;
    std::vector<std::string> requests_;  // under mutex_
    std::thread thread_;
};

class HttpsTest : public ::testing::Test {
protected:
    static https_settings plain(std::uint16_t port) {
        https_settings settings;
        settings.secure = false;
        settings.host = "127.0.0.1";
        settings.port = port;
        return settings;
    }
    static https_settings secure(std::uint16_t port) {
        auto settings = plain(port);
        settings.secure = true;
        settings.host = "localhost";
        settings.tls.ca = files().ca();
        return settings;
    }

    // Far behind what any test takes.
    instant later() const { return lease_clock::now() + std::chrono::seconds{60}; }

    result<https_response> ask(const std::shared_ptr<https_pool>& pool, https_request request,
                               std::optional<instant> until = std::nullopt) {
        return loop_.wait_for(pool->ask(std::move(request), until.value_or(later())));
    }

    loop loop_;
};

}  // namespace pawl::net
