// Asks an agent's API as many people and programs would: viewers of the live page, requests at a
// steady rate, connections that say nothing. Prints what it saw as one JSON document.
//
//   http_load HOST PORT TOKEN VIEWERS RATE SECONDS IDLE
//
// The rate is kept whatever the answers do (open loop): an answer's time counts from when its
// request was due, so that a server which stalls is not spared.
#include "time/clocks.hpp"

#include <pawl/clock.hpp>

#include <boost/asio.hpp>
#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using asio::ip::tcp;
using pawl::instant;
using pawl::lease_clock;
using std::chrono::nanoseconds;

constexpr std::size_t connections = 64;

struct observation {
    std::vector<double> milliseconds;
    std::uint64_t rejected = 0;  // any status of 400 and above
    std::uint64_t broken = 0;    // connections
    std::uint64_t events = 0;
    std::uint64_t viewers = 0;  // that the stream was opened to
};

struct target {
    tcp::endpoint where;
    std::string token;
};

std::string head(const target& to, const std::string& method, const std::string& path,
                 std::size_t body) {
    auto text = method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
                to.token + "\r\n";
    if (body > 0)
        text +=
            "Content-Type: application/json\r\nContent-Length: " + std::to_string(body) + "\r\n";
    return text + "\r\n";
}

// What a page and a program ask for, by turns.
std::string request_number(const target& to, std::size_t n) {
    static constexpr std::array<const char*, 4> pages{
        "/api/v1/locks?limit=50", "/api/v1/runs?limit=20", "/api/v1/nodes", "/api/v1/overview"};
    if (n % 2 == 0) {
        const auto body = R"({"key":"load/)" + std::to_string(n % 512) +
                          R"(","ttl_ms":1000,"owner":"http_load"})";
        return head(to, "POST", "/api/v1/leases", body.size()) + body;
    }
    return head(to, "GET", pages[n / 2 % pages.size()], 0);
}

// Reads one answer; its status, or 0 when the connection has ended.
asio::awaitable<int> read_answer(tcp::socket& socket, asio::streambuf& buffer) {
    boost::system::error_code failed;
    auto token = asio::redirect_error(asio::use_awaitable, failed);
    const auto size = co_await asio::async_read_until(socket, buffer, "\r\n\r\n", token);
    if (failed) co_return 0;
    const std::string_view text{static_cast<const char*>(buffer.data().data()), size};
    int status = 0;
    std::from_chars(text.data() + 9, text.data() + 12, status);
    std::size_t body = 0;
    const auto at = text.find("Content-Length: ");
    if (at != std::string_view::npos)
        std::from_chars(text.data() + at + 16, text.data() + text.size(), body);
    buffer.consume(size);
    if (buffer.size() < body) {
        co_await asio::async_read(socket, buffer, asio::transfer_exactly(body - buffer.size()),
                                  token);
        if (failed) co_return 0;
    }
    buffer.consume(body);
    co_return status;
}

// One of the connections that keep the rate together: its share of the requests, each when due.
asio::awaitable<void> ask(const target& to, observation& seen, instant begin, instant end,
                          nanoseconds between, std::size_t first) {
    const auto here = co_await asio::this_coro::executor;
    tcp::socket socket{here};
    boost::system::error_code failed;
    auto token = asio::redirect_error(asio::use_awaitable, failed);
    co_await socket.async_connect(to.where, token);
    asio::streambuf buffer;
    asio::steady_timer timer{here};
    std::size_t n = first;
    for (auto due = begin + between * static_cast<long>(first) / static_cast<long>(connections);
         due < end; due += between, n += connections) {
        if (due > lease_clock::now()) {
            timer.expires_after(due - lease_clock::now());
            co_await timer.async_wait(token);
        }
        const auto text = request_number(to, n);
        co_await asio::async_write(socket, asio::buffer(text), token);
        auto reading = read_answer(socket, buffer);
        const int status = failed ? 0 : co_await std::move(reading);
        if (status == 0) {
            ++seen.broken;
            co_return;
        }
        if (status >= 400 && status != 409) ++seen.rejected;
        seen.milliseconds.push_back(
            std::chrono::duration<double, std::milli>(lease_clock::now() - due).count());
    }
}

asio::awaitable<void> view(const target& to, observation& seen) {
    tcp::socket socket{co_await asio::this_coro::executor};
    boost::system::error_code failed;
    auto token = asio::redirect_error(asio::use_awaitable, failed);
    co_await socket.async_connect(to.where, token);
    const auto text = head(to, "GET", "/api/v1/events", 0);
    if (!failed) co_await asio::async_write(socket, asio::buffer(text), token);
    asio::streambuf buffer;
    bool open = false;
    while (!failed) {
        const auto size = co_await asio::async_read_until(socket, buffer, "\nevent: ", token);
        if (failed) break;
        if (!open) ++seen.viewers;
        open = true;
        buffer.consume(size);
        ++seen.events;
    }
}

// From one of several addresses of this machine, as an agent gives each only a share.
asio::awaitable<void> say_nothing(const target& to, observation& seen, unsigned number) {
    const auto here = co_await asio::this_coro::executor;
    tcp::socket socket{here};
    boost::system::error_code failed;
    auto token = asio::redirect_error(asio::use_awaitable, failed);
    const tcp::endpoint from{asio::ip::address_v4{0x7f000101 + number % 8}, 0};
    socket.open(tcp::v4());
    socket.bind(from, failed);
    co_await socket.async_connect(to.where, token);
    if (failed) ++seen.broken;
    asio::steady_timer for_ever{here, asio::steady_timer::time_point::max()};
    co_await for_ever.async_wait(token);
}

double percentile(const std::vector<double>& sorted, double share) {
    if (sorted.empty()) return 0;
    const auto place = static_cast<std::size_t>(static_cast<double>(sorted.size()) * share);
    return sorted[std::min(place, sorted.size() - 1)];
}

}  // namespace

int main(int count, char** words) {
    if (count != 8) {
        std::cerr << "usage: http_load HOST PORT TOKEN VIEWERS RATE SECONDS IDLE\n";
        return 64;
    }
    asio::io_context context{1};
    target to{{asio::ip::make_address(words[1]), static_cast<std::uint16_t>(std::stoi(words[2]))},
              words[3]};
    observation seen;
    for (int i = std::stoi(words[7]); i > 0; --i)
        asio::co_spawn(context, say_nothing(to, seen, static_cast<unsigned>(i)), asio::detached);
    for (int i = std::stoi(words[4]); i > 0; --i)
        asio::co_spawn(context, view(to, seen), asio::detached);
    const auto begin = lease_clock::now() + std::chrono::seconds{1};
    const auto end = begin + std::chrono::seconds{std::stoi(words[6])};
    const int rate = std::stoi(words[5]);
    const auto between =
        rate > 0 ? nanoseconds{1'000'000'000LL * connections / rate} : nanoseconds{end - begin};
    if (rate > 0)
        for (std::size_t i = 0; i < connections; ++i)
            asio::co_spawn(context, ask(to, seen, begin, end, between, i), asio::detached);
    context.run_for(end - lease_clock::now() + std::chrono::seconds{2});
    std::sort(seen.milliseconds.begin(), seen.milliseconds.end());
    const auto answered = seen.milliseconds.size();
    const auto seconds = std::chrono::duration<double>(end - begin).count();
    std::cout << json::serialize(
                     json::object{{"answered", answered},
                                  {"per_second", static_cast<double>(answered) / seconds},
                                  {"rejected", seen.rejected},
                                  {"broken", seen.broken},
                                  {"viewers", seen.viewers},
                                  {"events", seen.events},
                                  {"p50_ms", percentile(seen.milliseconds, 0.5)},
                                  {"p99_ms", percentile(seen.milliseconds, 0.99)},
                                  {"max_ms", percentile(seen.milliseconds, 1.0)}})
              << '\n';
}
