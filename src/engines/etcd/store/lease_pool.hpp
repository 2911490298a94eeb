// A pool of the etcd leases that keys are attached to: granted, renewed, reused, revoked.
//
// A lease costs etcd a write of its own to grant and another to revoke. One whose key has been
// released is empty, and serves the next claim of the same TTL, for as long as it is known to last.
#pragma once

#include "engines/etcd/client/client.hpp"
#include "engines/etcd/store/lease_stream.hpp"

#include <pawl/types.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace pawl::etcd {

struct etcd_lease {
    std::int64_t id = 0;
    std::int64_t seconds = 0;  // etcd's TTL: whole, and no shorter than what the cluster allows
    instant refreshed{};       // it lasts for so many seconds from then, or longer

    instant surely_until() const noexcept { return refreshed + std::chrono::seconds{seconds}; }
};

// The whole seconds that a TTL takes.
std::int64_t seconds_for(millis ttl) noexcept;

// On the loop only.
class lease_pool : public std::enable_shared_from_this<lease_pool> {
public:
    lease_pool(std::shared_ptr<client> through, std::shared_ptr<lease_stream> stream)
        : through_{std::move(through)}, stream_{std::move(stream)} {}

    // A lease without keys that surely lasts until `since` + ttl.
    async<etcd_lease> take(millis ttl, instant since, request_limits limits);
    // REQUIRES: no key is attached to it any more.
    void give_back(const etcd_lease& lease);
    // Of exactly so many seconds, never used before.
    async<etcd_lease> grant(std::int64_t seconds, request_limits limits);
    // Gives up a lease with whatever is attached to it. No caller waits for that; should it fail,
    // the lease ends by itself.
    void revoke(std::int64_t lease);
    // All are gone, as after a loss of data.
    void forget() { empty_.clear(); }

private:
    std::optional<etcd_lease> next_empty(std::int64_t seconds);
    static boost::asio::awaitable<void> revoke_soon(std::shared_ptr<client> through,
                                                    std::int64_t lease);

    const std::shared_ptr<client> through_;
    const std::shared_ptr<lease_stream> stream_;
    std::map<std::int64_t, std::vector<etcd_lease>> empty_;  // by the seconds asked for
    std::map<std::int64_t, std::int64_t> asked_;             // by the seconds that were granted
};

}  // namespace pawl::etcd
