// Where a Redis is, alone, behind its sentinels or sharded, and how to log in to it.
#pragma once

#include "base/descriptor.hpp"
#include "net/tls_settings.hpp"

#include <pawl/spi/store_settings.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::net {
template <class Given>
class provider;
}

namespace pawl::redis {

// Where the application's own connections come from.
using socket_provider = net::provider<base::descriptor>;

struct server_address {
    std::string host;
    std::uint16_t port = 0;

    auto operator<=>(const server_address&) const = default;
};

enum class topology {
    single,
    sentinel,  // one master, which sentinels name and replace
    cluster    // several masters, each with a part of the slots
};

struct redis_settings {
    store_settings common;
    topology shape = topology::single;
    // The sentinels, or any nodes of the cluster; then host and port are found by asking them.
    std::vector<server_address> seeds;
    std::string master_name;  // as the sentinels know it; who is dialled must then be a master
    std::string sentinel_user;
    std::string sentinel_password;  // empty: no AUTH is sent to sentinels
    // So many replicas have each grant, renewal and fence before it counts (WAIT).
    std::uint32_t replicas = 0;
    std::string host = "127.0.0.1";
    std::uint16_t port = 6379;
    std::string unix_path;  // when set, host and port are not used
    std::string user;       // empty: the default user
    std::string password;   // empty: no AUTH is sent
    std::uint32_t database = 0;
    std::optional<net::tls_settings> tls;        // empty: no TLS
    std::shared_ptr<socket_provider> lent_by{};  // then of all above only the database counts
};

// How long a write waits for its replicas: long enough for one that lives, and short enough to give
// a grant back within the timeout.
inline millis replica_timeout(const redis_settings& settings) {
    return settings.common.timeout / 4;
}

// What people call it, such as 10.0.0.7:6379 or 10.0.0.7:6379 (master orders); begins every detail
// of a failure. Holds no secret.
std::string place_of(const redis_settings& settings);

}  // namespace pawl::redis
