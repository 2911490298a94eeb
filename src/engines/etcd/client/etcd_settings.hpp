// Where an etcd cluster is, and how to log in to it.
#pragma once

#include "base/url.hpp"
#include "net/tls_settings.hpp"

#include <pawl/spi/store_settings.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pawl::etcd {

constexpr std::uint16_t default_port = 2379;

struct etcd_settings {
    store_settings common;
    std::vector<base::endpoint> endpoints;  // at least one; port 0: the default
    std::string user;                       // empty: no login
    std::string password;
    std::optional<net::tls_settings> tls;  // empty: no TLS
};

// What people call it, such as 10.0.0.7:2379; begins every detail of a failure.
std::string place_of(const base::endpoint& where);

}  // namespace pawl::etcd
