// What a handler is given, and what it gives back: a request and a response without their
// transport.
//
// Handlers see neither Beast nor sockets, so that only a few files compile against them.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::http {

struct field {
    std::string name;  // lower case in requests
    std::string value;
};

struct request {
    std::string method;  // GET, POST …
    std::string path;    // percent-encoded as it was sent, without the query; begins with '/'
    std::string query;   // without its '?'
    std::vector<field> fields;
    std::string body;
    std::string peer;  // the address of the other side, without its port
    bool from_loopback = false;
    bool to_loopback = false;  // by a listener that only this machine reaches
    bool secure = false;       // over TLS
    // Requested when the other side has hung up, or the server ends. From the server's thread.
    std::stop_token gone;

    // The first field of that lower-case name; empty when there is none.
    std::string_view find(std::string_view name) const noexcept {
        const auto found = std::find_if(fields.begin(), fields.end(),
                                        [&](const field& one) { return one.name == name; });
        return found == fields.end() ? std::string_view{} : std::string_view{found->value};
    }
};

// The body of a response that goes on: server-sent events, output that is followed.
class body_stream {
public:
    virtual ~body_stream() = default;
    // False when the other side has gone or has not taken what came before in time: then end. What
    // many streams share is written once. One write at a time.
    virtual boost::asio::awaitable<bool> write(std::shared_ptr<const std::string> bytes) = 0;
    virtual std::stop_token gone() const = 0;
};
// Writes until the body is over. Runs on the server's executor.
using producer = std::function<boost::asio::awaitable<void>(std::shared_ptr<body_stream>)>;

// A class with a constructor, so that it may stand in coroutines: docs/style.md, rule 9.
struct response {
    response() = default;
    explicit response(unsigned status) : status{status} {}
    response(unsigned status, std::string_view type, std::string body)
        : status{status}, body{std::move(body)} {
        set("Content-Type", type);
    }

    void set(std::string_view name, std::string_view value) {
        fields.push_back({std::string{name}, std::string{value}});
    }

    unsigned status = 200;
    std::vector<field> fields;  // Content-Length, Date, Connection and Transfer-Encoding are the
                                // server's
    std::string body;
    std::shared_ptr<const std::string> shared_body;  // instead of `body`, where it is set
    producer stream;                                 // instead of both
    // Let go of when the answer has been sent, or dropped.
    std::shared_ptr<const void> place;
};

// Answers one request. Runs on the server's executor; many at a time, one after another on each
// connection. One that throws is answered with 500.
using handler = std::function<boost::asio::awaitable<response>(std::shared_ptr<const request>)>;

}  // namespace pawl::http
