// Where an etcd cluster is, and how to log in to it.
#pragma once

#include "base/url.hpp"
#include "net/tls_settings.hpp"

#include <pawl/spi/store_settings.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace grpc {
class Channel;
}

namespace pawl::net {
template <class Given>
class provider;
}

namespace pawl::etcd {

// Where the application's own channels come from.
using channel_provider = net::provider<std::shared_ptr<grpc::Channel>>;

constexpr std::uint16_t default_port = 2379;

struct etcd_settings {
    store_settings common;
    std::vector<base::endpoint> endpoints;  // at least one, unless lent; port 0: the default
    std::string user;                       // empty: no login
    std::string password;
    std::optional<net::tls_settings> tls;            // empty: no TLS
    std::shared_ptr<channel_provider> lent_by{};     // then of the above only the login counts
    millis clock_age_max = std::chrono::minutes{1};  // of a reading of the node's clock
};

// What people call it, such as 10.0.0.7:2379; begins every detail of a failure.
std::string place_of(const base::endpoint& where);

}  // namespace pawl::etcd
