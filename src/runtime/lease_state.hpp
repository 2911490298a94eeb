// One lease while it is held: the machine that keeps it, and what its handles may read.
#pragma once

#include "lease/heartbeat.hpp"
#include "net/fork_check.hpp"
#include "net/timer.hpp"
#include "runtime/local_queue.hpp"

#include <pawl/lease.hpp>
#include <pawl/options.hpp>
#include <pawl/spi/lease_store.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace pawl::runtime {

class link;

class lease_state {
public:
    lease_state(grant won, std::string owner, const lease_options& options, leasing::heartbeat beat,
                ticket turn, instant claimed, std::shared_ptr<link> home,
                const net::simulated_node* simulated = nullptr);

    // Constant after construction
    const std::string key;
    const std::string owner;
    const fence_token token;
    const lease_options options;
    const instant claimed;
    const std::shared_ptr<link> home;
    const net::simulated_node* const simulated;

    // Any thread
    instant now() const { return simulated ? simulated->now() : lease_clock::now(); }
    std::stop_source stop;
    std::atomic<bool> done{false};
    std::atomic<bool> not_started{false};
    std::atomic<int> handles{1};
    std::atomic<bool> shared{false};  // it has had more than one
    // In the child of a fork(): dead, and not to be touched.
    bool is_elsewhere() const noexcept { return process_.is_elsewhere(); }
    bool valid(instant now) const noexcept;
    instant valid_until() const noexcept {
        if (is_elsewhere()) return instant::min();
        return instant{instant::duration{valid_until_.load(std::memory_order_acquire)}};
    }
    // What has been told.
    std::optional<loss_reason> lost() const noexcept;
    // The same, or why its validity has ended where the renewer has not had its turn yet.
    std::optional<loss_reason> lost(instant now) const noexcept;
    // False when the last handle has gone: the lease is being released.
    bool add_handle() noexcept;

    // On the loop only
    leasing::heartbeat beat;
    ticket turn;
    instant scheduled{};  // where the renewer's queue has it
    bool kept = false;    // the renewer drives it
    std::string claim_id{};
    bool claim_repeated = false;  // a copy of the claim may still be on its way to the store
    lease::deadline_watch watch;

    held_lease request() const {
        return {key, token, options.ttl, options.max_lifetime, options.if_expired};
    }
    release_options parting() const;
    // Publishes what the machine has come to believe.
    void publish();
    void end(loss_reason why, instant now);

private:
    const net::fork_check process_;
    const instant lifetime_end_;
    std::atomic<instant::rep> valid_until_;
    std::atomic<int> lost_{-1};
};

}  // namespace pawl::runtime
