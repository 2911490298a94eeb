// Leases that are held without one who renews them.
#pragma once

#include "runtime/core.hpp"

#include <pawl/spi/lease_store.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace pawl {

// Each key under a lease of its own, for an hour.
inline void hold_keys(runtime::core& where, std::vector<std::string> keys) {
    const auto acquiring = [](lease_store& store,
                              std::vector<std::string> all) -> boost::asio::awaitable<bool> {
        for (const auto& key : all) {
            claim wanted{key, "id-" + key, "client", std::chrono::hours{1}};
            auto asking = store.acquire(std::move(wanted));
            static_cast<void>(co_await std::move(asking));
        }
        co_return true;
    };
    where.loop().wait_for(acquiring(where.running()->store(), std::move(keys)));
}

}  // namespace pawl
