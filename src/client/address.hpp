// Where an agent's API is: http://host[:port][/prefix][?ca=FILE&…], or https://.
#pragma once

#include "base/duration.hpp"
#include "net/tls_settings.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::client {

// From connecting to the end of an answer; of a stream, between two pieces of it.
constexpr millis timeout_default{30'000};

enum class scheme { http, https };

struct address {
    scheme how = scheme::http;
    std::string host;  // an IPv6 address without brackets
    std::uint16_t port = 0;
    std::string prefix;  // "" or "/path" of a proxy, in front of every path; percent-encoded
    net::tls_settings trust{};
    millis timeout = timeout_default;
};

// `ca=`, `cert=`, `key=`, `tls_server_name=` and `timeout=` as in the URL of a store. Credentials
// have no place in it. A fault never quotes the text.
base::parsed<address> parse_address(std::string_view text);

// https://host:port, for messages.
std::string text_of(const address& where);

// What is sent to it never leaves this machine.
bool is_loopback(const address& where);

}  // namespace pawl::client
