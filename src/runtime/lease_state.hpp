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
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace pawl::runtime {

class link;

// Whom a lease tells its deadlines. Thread-safe. The end of a watch waits for a call of it that is
// under way on another thread.
class deadline_observer {
public:
    void replace(lease::deadline_watch watch);
    // What the watch throws ends the process: it must not come out of a call of another caller's.
    void tell(instant stop_at, instant valid_until) noexcept;

private:
    using shared_watch = std::shared_ptr<const lease::deadline_watch>;
    void await_calls(std::unique_lock<std::mutex>& lock);

    std::mutex mutex_;
    std::condition_variable returned_;
    // Under mutex_
    shared_watch watch_;
    std::thread::id caller_;  // of the thread that is in it
};

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
    bool is_forked_child() const noexcept { return process_.is_forked_child(); }
    bool valid(instant now) const noexcept;
    instant valid_until() const noexcept {
        if (is_forked_child()) return instant::min();
        return instant{instant::duration{valid_until_.load(std::memory_order_acquire)}};
    }
    // What has been told.
    std::optional<loss_reason> lost() const noexcept;
    // The same, or why its validity has ended where the renewer has not had its turn yet.
    std::optional<loss_reason> lost(instant now) const noexcept;
    // False when the last handle has gone: the lease is being released.
    bool add_handle() noexcept;
    // True: it was the last. Then the watch is told nothing more.
    bool drop_handle() noexcept;
    deadline_observer watch;

    // On the loop only
    leasing::heartbeat beat;
    ticket turn;
    instant scheduled{};  // where the renewer's queue has it
    bool kept = false;    // the renewer drives it
    std::string claim_id{};
    bool claim_repeated = false;  // a copy of the claim may still be on its way to the store

    held_lease request() const {
        return {key, token, options.ttl, options.max_lifetime, options.if_expired};
    }
    release_options parting() const;
    // Publishes what the machine has come to believe.
    void publish();
    void tell_deadlines() noexcept;
    void end(loss_reason why, instant now);

private:
    const net::fork_check process_;
    const instant lifetime_end_;
    std::atomic<instant::rep> valid_until_;
    std::atomic<int> lost_{-1};
};

}  // namespace pawl::runtime
