// The present epoch of a namespace: its marker, made when there is none, and the etcd lease that
// records are attached to.
//
// Records are to go a while after their last use. All that are written within a stretch of time, by
// whatever process, share one etcd lease, so that there are a few of those and not one for each
// record: the key keep/SECONDS names it, and ends when it is time for the next.
#pragma once

#include "engines/etcd/client/client.hpp"
#include "engines/etcd/store/lease_pool.hpp"
#include "engines/etcd/store/lease_text.hpp"
#include "engines/etcd/store/transactions.hpp"
#include "net/event.hpp"

#include <memory>
#include <optional>
#include <string>

namespace pawl::etcd {

// On the loop only.
class epochs : public std::enable_shared_from_this<epochs> {
public:
    epochs(std::shared_ptr<client> through, std::shared_ptr<lease_pool> leases, key_names names);

    // Reads it, or makes it, when it is not known.
    async<epoch> current(request_limits limits);
    // To be read anew: something about it has changed.
    void forget() { known_.reset(); }
    // The cluster has gone back in time under us: another epoch begins, whose tokens are above
    // those that we have seen.
    async<void> begin_anew(epoch old, fence_token seen, request_limits limits);
    // Records that a node's clock has come so far since the birth.
    async<void> prove(epoch in, micros at_least, request_limits limits);
    // How long records may be written under one epoch.
    millis stretch() const noexcept { return stretch_; }

private:
    struct found {
        std::optional<epoch> whole;
        std::int64_t revision = 0;         // of the look
        std::int64_t marker_revision = 0;  // 0: there is none
        std::optional<marker_text> marker;
        std::uint64_t cluster = 0;
        fence_token seen{};           // the highest token that is known to have been granted
        std::int64_t keep_lease = 0;  // 0: there is none
    };

    async<epoch> load(request_limits limits);
    async<found> look(request_limits limits);
    async<void> make_marker(const found& seen, request_limits limits);
    async<void> renew_layout(const found& seen, request_limits limits);
    async<void> put_marker(std::int64_t before, marker_text what, request_limits limits);
    async<void> make_keep(request_limits limits);

    const std::shared_ptr<client> through_;
    const std::shared_ptr<lease_pool> leases_;
    const key_names names_;
    const millis stretch_;
    const std::string keep_;
    std::optional<epoch> known_;
    instant known_until_{};
    bool loading_ = false;
    net::event loaded_;
};

}  // namespace pawl::etcd
