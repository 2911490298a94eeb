// One connection, and one request with its answer on it.
//
// A request is carried by a coroutine of its own, so that a caller leaves when their time is up,
// whatever the connection waits for.
#pragma once

#include "net/byte_stream.hpp"
#include "net/event.hpp"
#include "net/https/answer_reader.hpp"
#include "net/https/https_pool.hpp"
#include "net/https/proxy.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>

namespace pawl::net {

constexpr std::size_t piece_bytes = std::size_t{16} * 1024;

// What all connections of a pool share. On the loop only.
struct connection_plan {
    loop& where;
    const https_settings settings;
    std::optional<result<proxy_address>> proxy;  // nothing: none
    std::string place;                           // https://host:port, for messages

    // Read when it is first needed, and again after a handshake was rejected: files are replaced.
    std::shared_ptr<boost::asio::ssl::context> trust;
    std::optional<finding> certificate;  // of the newest connection
};

std::shared_ptr<connection_plan> plan_connections(loop& where, https_settings settings);

// On the loop only; closing it ends what goes on over it.
struct connection {
    explicit connection(std::shared_ptr<connection_plan> of)
        : plan{std::move(of)}, stream{std::make_shared<byte_stream>(plan->where.get_executor())} {}

    std::shared_ptr<connection_plan> plan;
    std::shared_ptr<byte_stream> stream;  // null once the pool is gone, or the loop has ended
    bool established = false;
    instant idle_since{};
    std::array<char, piece_bytes> piece{};

    void close() noexcept {
        if (stream) stream->close();
    }
};

// Where a request is on its way.
struct exchange {
    exchange(answer_shape shape, std::size_t body_max) : reader{shape, body_max} {}

    std::string text;         // of the request
    bool only_reads = false;  // what it is not known to have done it did not do
    bool sent = false;        // its first byte may have left
    std::optional<failure> why;
    answer_reader reader;
    instant asked{};
    instant answered{};
    event over;  // the answer is whole, or for an endless one: its head is
};

// The request as it goes over the wire, or what is wrong with it.
result<std::string> text_of_request(const connection_plan& plan, const https_request& request);

// Carries it out, and sets `over`. Keeps both alive.
boost::asio::awaitable<void> carry(std::shared_ptr<connection> over,
                                   std::shared_ptr<exchange> what);

// Reads once. The failure that it ended with, if it did.
boost::asio::awaitable<std::optional<failure>> receive(std::shared_ptr<connection> from,
                                                       std::shared_ptr<exchange> what);

// `protocol` and the like are for requests that only read; the others may have taken effect.
failure explain(const connection_plan& plan, const exchange& what, errc code,
                const std::string& detail);

}  // namespace pawl::net
