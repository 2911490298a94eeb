// A server on a loop of its own, and a client that says exactly the bytes it is told. For tests.
#pragma once

#include "http/server.hpp"
#include "net/boot_timer.hpp"
#include "net/loop.hpp"

#include <pawl/clock.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::http {

// Longer than anything that a test waits for takes on a loaded machine.
constexpr int seconds_at_most = 30;

class trial_server {
public:
    explicit trial_server(handler answer, limits bounds = {}) {
        server_parts parts;
        parts.executor = loop_.get_executor();
        parts.bounds = bounds;
        parts.answer = std::move(answer);
        parts.reject = [](unsigned status, std::string_view detail) {
            return response{status, "text/plain", "rejected: " + std::string{detail}};
        };
        parts.warn = [this](std::string_view line) {
            const std::lock_guard lock{mutex_};
            warnings_.emplace_back(line);
        };
        served_ = std::make_unique<server>(std::move(parts));
    }
    ~trial_server() {
        on_loop<bool>([this] {
            served_.reset();
            return true;
        });
    }

    std::uint16_t listen(const std::string& host = "127.0.0.1") {
        return on_loop<result<std::uint16_t>>([&] { return served_->listen(host, 0); }).value();
    }
    server_counts counts() {
        return on_loop<server_counts>([this] { return served_->counts(); });
    }
    void stop(millis expiry) { loop_.wait_for(stopped(*served_, expiry)); }
    std::vector<std::string> warnings() {
        const std::lock_guard lock{mutex_};
        return warnings_;
    }
    server& served() noexcept { return *served_; }
    net::loop& loop() noexcept { return loop_; }

    template <class T>
    T on_loop(std::function<T()> work) {
        return loop_.wait_for(called<T>(work));
    }
    // Until the counts say so, which they must.
    void await_counts(const std::function<bool(const server_counts&)>& said) {
        const auto end = lease_clock::now() + std::chrono::seconds{seconds_at_most};
        while (!said(counts())) ASSERT_LT(lease_clock::now(), end);
    }

private:
    template <class T>
    static boost::asio::awaitable<T> called(std::function<T()>& work) {
        co_return work();
    }
    static boost::asio::awaitable<bool> stopped(server& which, millis expiry) {
        auto stopping = which.stop(expiry);
        co_await std::move(stopping);
        co_return true;
    }

    net::loop loop_;
    std::mutex mutex_;
    std::vector<std::string> warnings_;
    std::unique_ptr<server> served_;
};

struct reply {
    unsigned status = 0;
    std::string head;
    std::string body;

    bool has(std::string_view line) const { return head.find(line) != std::string::npos; }
};

class raw_client {
public:
    // A small receive buffer lets the other side feel that nothing is read.
    explicit raw_client(std::uint16_t port, int receive_buffer = 0) : raw_client{} {
        if (receive_buffer > 0)
            ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &receive_buffer,
                         sizeof receive_buffer);
        connect(port);
    }
    // From another address of this machine.
    static raw_client from(const char* address, std::uint16_t port) {
        raw_client made;
        sockaddr_in own{};
        own.sin_family = AF_INET;
        ::inet_pton(AF_INET, address, &own.sin_addr);
        EXPECT_EQ(::bind(made.descriptor_, reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
        made.connect(port);
        return made;
    }
    static raw_client unconnected() { return raw_client{}; }
    void connect(std::uint16_t port) {
        sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_port = htons(port);
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connected_ = ::connect(descriptor_, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0;
    }
    ~raw_client() { close(); }
    raw_client(raw_client&& other) noexcept
        : descriptor_{std::exchange(other.descriptor_, -1)},
          connected_{other.connected_},
          kept_{std::move(other.kept_)} {}
    raw_client& operator=(raw_client&&) = delete;

    bool is_connected() const noexcept { return connected_; }
    int descriptor() const noexcept { return descriptor_; }

    // False when the other side has closed.
    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }

    std::string read_until(std::string_view end) {
        auto at = kept_.find(end);
        while (at == std::string::npos && read_more()) at = kept_.find(end);
        return take(at == std::string::npos ? kept_.size() : at + end.size());
    }
    std::string read_bytes(std::size_t count) {
        while (kept_.size() < count && read_more()) continue;
        return take(std::min(count, kept_.size()));
    }
    std::string read_all() {
        while (read_more()) continue;
        return take(kept_.size());
    }
    // The other side has closed, and had nothing more to say.
    bool is_at_end() { return kept_.empty() && !read_more(); }

    reply read_head() {
        reply got;
        got.head = read_until("\r\n\r\n");
        if (got.head.size() > 12)
            got.status = static_cast<unsigned>(std::stoul(got.head.substr(9, 3)));
        return got;
    }
    // One with a Content-Length, or with chunks.
    reply read_reply() {
        auto got = read_head();
        if (const auto at = got.head.find("Content-Length: "); at != std::string::npos)
            got.body = read_bytes(std::stoul(got.head.substr(at + 16)));
        if (got.has("Transfer-Encoding: chunked"))
            for (auto chunk = read_chunk(); !chunk.empty(); chunk = read_chunk()) got.body += chunk;
        return got;
    }
    std::string read_chunk() {
        const auto line = read_until("\r\n");
        if (line.empty()) return "the body is not whole";
        const auto bytes = read_bytes(std::stoul(line, nullptr, 16));
        read_until("\r\n");
        return bytes;
    }
    reply ask(std::string_view bytes) {
        send(bytes);
        return read_reply();
    }

    void end_sending() { ::shutdown(descriptor_, SHUT_WR); }
    void close() {
        if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    }
    // Closes without a release_options: the other side gets a reset.
    void reset() {
        const linger hard{1, 0};
        ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        close();
    }

private:
    raw_client() : descriptor_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
        const timeval expiry{seconds_at_most, 0};
        ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &expiry, sizeof expiry);
        const int one = 1;
        ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }

    bool read_more() {
        char bytes[16 * 1024];
        const auto got = ::recv(descriptor_, bytes, sizeof bytes, 0);
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            ADD_FAILURE() << "nothing came for " << seconds_at_most << " s";
        if (got <= 0) return false;
        kept_.append(bytes, static_cast<std::size_t>(got));
        return true;
    }
    std::string take(std::size_t count) {
        auto taken = kept_.substr(0, count);
        kept_.erase(0, count);
        return taken;
    }

    int descriptor_ = -1;
    bool connected_ = false;
    std::string kept_;
};

inline std::string get(std::string_view path, std::string_view fields = {}) {
    return "GET " + std::string{path} + " HTTP/1.1\r\nHost: localhost\r\n" + std::string{fields} +
           "\r\n";
}

inline std::string post(std::string_view path, std::string_view body) {
    return "POST " + std::string{path} +
           " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + std::string{body};
}

// Ends when the other side has gone, and not before.
inline boost::asio::awaitable<void> until_gone(std::stop_token gone) {
    net::boot_timer timer{co_await boost::asio::this_coro::executor};
    const std::stop_callback waking{gone, [&timer] { timer.wake(); }};
    auto waiting = timer.wait();
    co_await std::move(waiting);
}

// Comes back when the loop has done what was handed to it before.
inline boost::asio::awaitable<void> one_turn() {
    co_await boost::asio::post(co_await boost::asio::this_coro::executor,
                               boost::asio::use_awaitable);
}

// Answers when it is let, and as often as it is asked.
struct held_handler {
    handler as_handler() {
        return [this](std::shared_ptr<const request> asked) {
            auto passing = pass(std::move(asked));
            return passing;
        };
    }
    boost::asio::awaitable<response> pass(std::shared_ptr<const request> asked) {
        ++inside;
        gone = asked->gone;
        net::boot_timer timer{co_await boost::asio::this_coro::executor};
        waiting.push_back(&timer);
        auto wait = timer.wait();
        co_await std::move(wait);
        --inside;
        co_return response{204};
    }
    bool open() {
        for (auto* timer : std::exchange(waiting, {})) timer->wake();
        return true;
    }
    // On the loop only.
    std::vector<net::boot_timer*> waiting;
    int inside = 0;
    std::stop_token gone;  // of the last that came in
};

inline void await_inside(trial_server& server, const held_handler& blocker, int count) {
    server.await_counts([&](const server_counts&) { return blocker.inside == count; });
}

// Says what it was asked.
inline boost::asio::awaitable<response> echo(std::shared_ptr<const request> asked) {
    co_return response{200, "text/plain",
                       asked->method + ' ' + asked->path + '?' + asked->query + ' ' + asked->body};
}

}  // namespace pawl::http
