// The URL of a store. Unlike RFC 3986 it allows several hosts, as every clustered store needs.
#pragma once

#include "base/duration.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::base {

struct endpoint {
    // A name, an IPv4 address, or an IPv6 address without brackets; empty for postgresql and
    // kubernetes.
    std::string host;
    std::uint16_t port = 0;  // 0: the engine's own default

    bool operator==(const endpoint&) const = default;
};

struct url_parameter {
    std::string name;
    std::string value;
};

// scheme:PATH?query, or scheme://[user[:password]@]host[:port][,host[:port]…][/path]?query.
// Every part is percent-decoded. After an authority no path has a bare '@', and without one it has
// none behind a ':' but where it begins with '/' or '.': it would be half of a password.
struct store_url {
    std::string scheme;
    std::optional<std::string> user;
    std::optional<std::string> password;
    std::vector<endpoint> endpoints;
    std::string path;  // without the '/' that ends the authority; for scheme:PATH the path as given
    std::vector<url_parameter> parameters;  // in order; a name stands at most once

    const std::string* find(std::string_view name) const;
};

// At most 4096 bytes. A fault never quotes the text, as it may hold a secret.
parsed<store_url> parse_store_url(std::string_view text);

// Where a secret stands: the password of the authority, and the values of parameters that are or
// may hold one. In a text that is no URL it is all between the scheme and the last '@'.
enum class secret_kind { password, credentials, parameter };
struct secret_place {
    std::size_t at;
    std::size_t size;
    secret_kind kind;
};
std::vector<secret_place> secrets_in(std::string_view text);

// The URL as it may be logged: the password, in the authority or in the query, is "***".
std::string redact_url(std::string_view text);

// The URL as it may be handed on: without its secrets. What a password_file= names stays there.
std::string without_secrets(std::string_view text);

}  // namespace pawl::base
