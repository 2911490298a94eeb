// HTTP/1.1 as a client, over TLS or in the clear: a pool of connections to one host that are kept
// alive, with a deadline for each request. Beast stays inside.
#pragma once

#include "net/loop.hpp"
#include "net/tls_settings.hpp"

#include <pawl/clock.hpp>
#include <pawl/spi/async.hpp>
#include <pawl/spi/examination.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::net {

struct https_settings {
    bool secure = true;
    std::string host;
    std::uint16_t port = 443;
    tls_settings tls{};

    // http://[user:password@]host[:port] of a proxy: CONNECT where `secure`. Empty: none. See
    // proxy_of_environment().
    std::string proxy{};

    std::size_t connections_max = 16;
    std::chrono::milliseconds idle_max{
        std::chrono::seconds{50}};                 // a connection is not reused after
    std::size_t body_max = std::size_t{16} << 20;  // of an answer
};

// HTTPS_PROXY or HTTP_PROXY (in either case), unless NO_PROXY names the host or the host is this
// machine. Empty: none. NO_PROXY: names (and what ends in them), addresses and networks such as
// 10.0.0.0/8 between commas, or *.
std::string proxy_of_environment(const https_settings& settings);

// host, or host:port where the port is not the scheme's own: the Host field of every request, for
// those who sign it.
std::string host_field(const https_settings& settings);

using http_fields = std::vector<std::pair<std::string, std::string>>;

// Host, Content-Length and Connection are added. A class with a constructor: g++ 12 destroys
// aggregate temporaries with strings twice inside co_await.
struct https_request {
    https_request(std::string method, std::string target, std::string body = {})
        : method{std::move(method)}, target{std::move(target)}, body{std::move(body)} {}

    std::string method;
    std::string target;  // origin form, percent-encoded, with the query
    http_fields fields{};
    std::string body;

    // It changes nothing, like GET and HEAD, though its method might: a search by POST.
    bool only_reads = false;
};

struct https_response {
    unsigned status = 0;
    http_fields fields;  // names in lower case
    std::string body;
    instant asked;                             // before the request left
    instant answered;                          // after the whole answer came
    std::optional<std::chrono::seconds> date;  // of the Date field, since the Unix epoch

    // The first of this name, in lower case; empty where there is none.
    std::string_view field(std::string_view name) const noexcept;
};

// Used on its loop only. Requests may be asked concurrently; those above connections_max wait.
class https_pool : public std::enable_shared_from_this<https_pool> {
public:
    static std::shared_ptr<https_pool> make(loop& where, https_settings settings);
    virtual ~https_pool() = default;

    // Any status is an answer; redirects are not followed. Failures:
    // `unreachable`: the request cannot have been acted upon, or it only reads.
    // `outcome_unknown`: it left, may change something, and no whole answer came. That a peer
    // closes a connection while it is idle is seen before anything is sent; where the two cross,
    // what only reads is asked once more on another connection, and the rest is unknown. `denied`:
    // TLS or the proxy rejects. `protocol`: the answer is no HTTP or too large, to what only reads.
    // Nothing above what ends at `until` is retried. Cancellable (terminal).
    virtual async<https_response> ask(https_request request, instant until) = 0;

    // An answer that does not end: told line by line, for watches.
    class lines {
    public:
        virtual ~lines() = default;
        virtual unsigned status() const noexcept = 0;
        // The next line without its end; nothing when the answer is over. `unreachable` when none
        // has come by `until`: it may be asked for again. Cancellable (terminal).
        virtual async<std::optional<std::string>> next(instant until) = 0;
    };
    // On a connection of its own, beside connections_max, that is closed with the last reference. A
    // line is at most body_max long.
    virtual async<std::shared_ptr<lines>> open_lines(https_request request, instant until) = 0;

    // How long the certificate of the newest connection is still valid; nothing in the clear, or
    // before the first connection.
    virtual std::optional<finding> examine_tls() const = 0;

    // Ends all connections, and what waits on them.
    virtual void close() noexcept = 0;
};

}  // namespace pawl::net
