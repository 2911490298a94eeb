// One Redis or Valkey whose server can be hurt.
#pragma once

#include "base/duration.hpp"
#include "test_support/servers/redis_server.hpp"

#include <pawl/types.hpp>

#include <cstdint>
#include <string>

namespace pawl::crash {

template <testing_servers::redis_kind kind>
class redis_engine_of : public testing_servers::redis_server {
public:
    redis_engine_of() : redis_server{synced_and_open()} {}
    static std::string url(const std::string& host, std::uint16_t port, millis timeout) {
        const auto* scheme = kind == testing_servers::redis_kind::valkey ? "valkey" : "redis";
        return scheme + ("://" + host) + ":" + std::to_string(port) +
               "?timeout=" + base::format_duration(timeout);
    }

private:
    static testing_servers::redis_options synced_and_open() {
        testing_servers::redis_options options;
        options.kind = kind;
        options.persistence = testing_servers::redis_persistence::append_synced;
        // From a network of its own a node does not reach our loopback address.
        options.more = {"bind 0.0.0.0", "protected-mode no"};
        return options;
    }
};

}  // namespace pawl::crash
