// An empty answer on connections that are kept, beside a bare loop of Beast that reads a request
// and writes a response, without a bound on anything.
#include "benchmarks/measure.hpp"
#include "http/server.hpp"
#include "net/loop.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <thread>

namespace pawl::benchmarks {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;

constexpr int rounds = 2'000;

class bare_beast {
public:
    bare_beast() : acceptor_{context_, {asio::ip::address_v4::loopback(), 0}} {
        auto accepting = accept();
        asio::co_spawn(context_, std::move(accepting), asio::detached);
        thread_ = std::thread{[this] { context_.run(); }};
    }
    ~bare_beast() {
        context_.stop();
        thread_.join();
    }
    bare_beast(const bare_beast&) = delete;
    bare_beast& operator=(const bare_beast&) = delete;
    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

private:
    asio::awaitable<void> accept() {
        for (;;) {
            auto socket = co_await acceptor_.async_accept(asio::use_awaitable);
            socket.set_option(tcp::no_delay{true});
            auto serving = serve(std::move(socket));
            asio::co_spawn(context_, std::move(serving), asio::detached);
        }
    }
    static asio::awaitable<void> serve(tcp::socket socket) {
        beast::flat_buffer buffer;
        for (;;) {
            beast::http::request<beast::http::string_body> asked;
            co_await beast::http::async_read(socket, buffer, asked, asio::use_awaitable);
            beast::http::response<beast::http::empty_body> answered{beast::http::status::ok, 11};
            answered.prepare_payload();
            co_await beast::http::async_write(socket, answered, asio::use_awaitable);
        }
    }

    asio::io_context context_{1};
    tcp::acceptor acceptor_;
    std::thread thread_;
};

class own_server {
public:
    own_server() {
        http::server_parts parts;
        parts.executor = loop_.get_executor();
        parts.answer = [](std::shared_ptr<const http::request>) -> asio::awaitable<http::response> {
            co_return http::response{200};
        };
        served_ = std::make_unique<http::server>(std::move(parts));
        auto listening = listen();
        port_ = loop_.wait_for(std::move(listening));
    }
    ~own_server() {
        auto stopping = stop();
        loop_.wait_for(std::move(stopping));
    }
    own_server(const own_server&) = delete;
    own_server& operator=(const own_server&) = delete;
    std::uint16_t port() const noexcept { return port_; }

private:
    asio::awaitable<std::uint16_t> listen() { co_return served_->listen("127.0.0.1", 0).value(); }
    asio::awaitable<bool> stop() {
        auto stopping = served_->stop(millis{0});
        co_await std::move(stopping);
        served_.reset();
        co_return true;
    }

    net::loop loop_;
    std::unique_ptr<http::server> served_;
    std::uint16_t port_ = 0;
};

// Asks on all of its connections, and then reads all answers.
class load_client {
public:
    load_client(std::uint16_t port, int connections) {
        for (int i = 0; i < connections; ++i) {
            sockets_.emplace_back(context_);
            sockets_.back().connect({asio::ip::address_v4::loopback(), port});
            sockets_.back().set_option(tcp::no_delay{true});
        }
    }
    void ask_all() {
        constexpr std::string_view question =
            "GET /api/v1/locks HTTP/1.1\r\nHost: localhost\r\n"
            "Authorization: Bearer 0123456789abcdef\r\n\r\n";
        for (auto& one : sockets_) asio::write(one, asio::buffer(question));
        for (auto& one : sockets_) read_answer(one);
    }

private:
    static void read_answer(tcp::socket& from) {
        char text[1024];
        std::size_t count = 0;
        do {
            count += from.read_some(asio::buffer(text + count, sizeof text - count));
        } while (std::string_view{text, count}.find("\r\n\r\n") == std::string_view::npos);
    }

    asio::io_context context_;
    std::vector<tcp::socket> sockets_;
};

void measure_with(int connections, double goal) {
    bare_beast bare_server;
    own_server server;
    load_client bare{bare_server.port(), connections}, ours{server.port(), connections};
    const auto both = compare(rounds, [&] { bare.ask_all(); }, [&] { ours.ask_all(); });
    const auto shown = [&](double micros) {
        char text[64];
        std::snprintf(text, sizeof text, "%.1f µs, %.0f /s", micros / connections,
                      1e6 * connections / micros);
        return std::string{text};
    };
    char bound[32];
    std::snprintf(bound, sizeof bound, "< %.1f", goal);
    print_row("HTTP: an empty answer, " + std::to_string(connections) +
                  (connections == 1 ? " connection" : " connections at once"),
              shown(both.bare), shown(both.ours), both.ours / both.bare, bound,
              both.ours / both.bare < goal);
}

void benchmark_http() {
    measure_with(1, 1.5);
    measure_with(32, 1.5);
}

const benchmark registered{120, "http", benchmark_http};

}  // namespace
}  // namespace pawl::benchmarks
