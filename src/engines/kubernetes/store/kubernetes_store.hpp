// Leases in a cluster of Kubernetes, as its own Lease objects.
//
// docs/stores/kubernetes.md says what a cluster can promise, and what its Role must allow.
#pragma once

#include "engines/kubernetes/client/cluster_access.hpp"
#include "net/loop.hpp"

#include <pawl/spi/lease_store.hpp>
#include <pawl/spi/store_settings.hpp>

#include <memory>
#include <optional>

namespace pawl::kubernetes {

struct kubernetes_settings {
    store_settings common{};
    cluster_access access{};  // with its namespace

    // How far the clocks of the API servers may differ. Nothing: 2 s.
    std::optional<millis> skew{};

    // How far the clocks of other programs, which write renewTime, may be from those of the API
    // servers. Nothing: renewTime is not believed, and another program that holds a Lease is waited
    // for.
    std::optional<millis> renew_time_skew{};
};

// Opens nothing yet: the first verb connects. REQUIRES: settings.common.name_space is valid, and
// settings.access.name_space is set.
std::shared_ptr<lease_store> make_kubernetes_store(net::loop& where, kubernetes_settings settings);

}  // namespace pawl::kubernetes
