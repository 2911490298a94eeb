// What a store can do, and the settings that every store shares.
#pragma once

#include <pawl/types.hpp>

#include <optional>
#include <string>

namespace pawl {

// What an engine, with its settings, can promise. See locks::traits().
struct store_traits {
    // The engine forgets no grant that it has answered, or a quarantine covers that it may. Of the
    // memory of its own fence, locks::check_fence(), nothing is said without `quarantine`.
    bool strict_fencing = false;

    // The store wakes waiters when a key changes. Otherwise they poll.
    bool notifies = false;

    // One renewal of many leases is one atomic step for all of them.
    bool atomic_batch = false;

    // The shortest TTL that the store takes.
    millis ttl_min{1};

    // Every TTL is a multiple of this.
    millis ttl_step{1};
};

// The settings that all stores have in common. locks::open(url) reads them from the query
// parameters of the URL and checks them. What opens a store without a URL sets them itself, and
// nothing checks them then.
struct store_settings {
    // Keeps users of one server apart: keys of different namespaces never meet. The parameter
    // `namespace`. Default: pawl. 1 to 64 bytes of [A-Za-z0-9_.-].
    std::string name_space = "pawl";

    // How long one operation may take, connecting included. The parameter `timeout`.
    // Default: 2 s. 10 ms to 10 min.
    millis timeout{2000};

    // What a duplicate costs. The parameter `safety`. Default: efficiency.
    safety_class safety = safety_class::efficiency;

    // The longest TTL that may have been granted before a loss of data. After a loss the store
    // grants nothing for this long, and it takes no longer TTL. The parameter `quarantine`; its
    // default `auto` means 1 min where `safety` is correctness or the engine asks for it, else off.
    // Above 0. Nothing: off.
    std::optional<millis> quarantine{};

    // How far ahead of the store's clock an occurrence may be. The parameter `max_skew`.
    // Default: 1 min. Not negative. 0: an occurrence is early until the store's clock reaches it.
    millis max_skew{60'000};

    // How long a record outlives its last use. The parameter `retention`. Default: 7 days. Above 0.
    // After that the store forgets which occurrence of the key ran last.
    millis retention = retention_default;
};

}  // namespace pawl
