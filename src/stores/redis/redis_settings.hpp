// Where a Redis is, and how to log in to it.
#pragma once

#include "net/tls.hpp"

#include <pawl/spi/store_settings.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace pawl::redis {

struct redis_settings {
    store_settings common;
    std::string host = "127.0.0.1";
    std::uint16_t port = 6379;
    std::string unix_path;  // when set, host and port are not used
    std::string user;       // empty: the default user
    std::string password;   // empty: no AUTH is sent
    std::uint32_t database = 0;
    std::optional<net::tls_settings> tls;  // empty: no TLS
};

// What people call it, such as 10.0.0.7:6379; begins every detail of a failure. Holds no secret.
std::string place_of(const redis_settings& settings);

}  // namespace pawl::redis
