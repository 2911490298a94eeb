// A server of HTTP/1.1 on Asio, with a bound for everything that the other side could let grow.
#pragma once

#include "http/message.hpp"

#include <pawl/errors.hpp>
#include <pawl/types.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace pawl::http {

struct limits {
    std::size_t header_bytes_max = std::size_t{16} * 1024;  // the request line included
    std::size_t header_fields_max = 100;
    std::size_t body_bytes_max = std::size_t{256} * 1024;
    // Beyond either, the longest idle makes way, else the request that has been coming for longest,
    // else it is 503. An address is one of IPv4, or a network of 64 bits of IPv6.
    std::size_t connections_max = 12'000;
    std::size_t connections_per_address_max = 4'000;
    std::size_t requests_max = 1'024;  // answered at a time; beyond it: 503
    // Of requests that have come in part or are being answered, and of answers that are being sent,
    // on all connections together; beyond it: 503. A body that several answers share counts once. A
    // quarter is out of reach of large answers, and a small one is always sent. Requests that have
    // come in part have half of it: beyond that the oldest of the address that holds most is cut.
    std::size_t held_bytes_max = std::size_t{64} * 1024 * 1024;
    std::size_t small_answer_bytes = std::size_t{16} * 1024;
    millis header_wait{10'000};  // from the first byte of a request to the end of its head
    millis body_wait{15'000};    // from there to the end of its body
    millis idle_wait{75'000};    // between two requests
    millis write_wait{20'000};   // for the other side to take a response, or a part of it
    millis handshake_wait{10'000};
};

struct tls_identity {
    std::string certificate;  // PEM file, the chain included
    std::string key;          // PEM file
};

// What happened, for metrics and logs.
struct server_counts {
    std::uint64_t connections = 0;  // open now
    std::uint64_t accepted = 0;
    std::uint64_t rejected = 0;  // for want of room
    std::uint64_t requests = 0;  // answered
    std::uint64_t malformed = 0;
    std::uint64_t timed_out = 0;
};

struct server_parts {
    boost::asio::any_io_executor executor;  // one thread at a time drives it
    limits bounds{};
    handler answer;
    // Answers what the handler does not (400, 408, 413, 431, 500, 503, 505), in the form of the
    // application; `detail` is one line.
    std::function<response(unsigned status, std::string_view detail)> reject;
    // Told in one line what an operator should see to: a handler that threw, a new certificate that
    // is wrong, a want of descriptors.
    std::function<void(std::string_view line)> warn{};
};

// On its executor only, but for the constructor.
class server {
public:
    explicit server(server_parts made_of);
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    // Each may be called several times: a server may listen in several places. `denied` where the
    // certificate, the address or the port cannot be had, `unreachable` where another process has
    // the port now; `detail` says which, and why.
    // The certificate is read again when its file has changed, and kept when the new one is wrong.
    result<void> use_tls(tls_identity files);
    // Port 0 is any that is free; returns the port.
    result<std::uint16_t> listen(const std::string& host, std::uint16_t port);
    // A listening socket that another process has opened, such as systemd.
    result<void> listen_on(int descriptor);

    server_counts counts() const noexcept;

    // Takes no more connections, lets what is being answered finish for `timeout`, then cuts.
    boost::asio::awaitable<void> stop(millis timeout);

private:
    class state;
    std::shared_ptr<state> state_;
};

}  // namespace pawl::http
