// Drives the heartbeats of all leases that this process holds in one store.
//
// It does what the machines say and decides nothing but how much goes into one request: all that is
// due now, or within a moment, in one renewal of a bounded size (rule 11).
#pragma once

#include "net/boot_timer.hpp"
#include "runtime/lease_state.hpp"

#include <pawl/observer.hpp>

#include <memory>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace pawl::runtime {

constexpr std::size_t renewal_batch_max = 512;

// On the loop only.
class renewer : public std::enable_shared_from_this<renewer> {
public:
    renewer(boost::asio::any_io_executor executor, std::shared_ptr<lease_store> store,
            std::shared_ptr<observer> watcher);

    // Drives for ever; to be spawned once.
    static boost::asio::awaitable<void> run(std::shared_ptr<renewer> self);

    void keep(std::shared_ptr<lease_state> who);
    void forget(const std::shared_ptr<lease_state>& who);
    // All that are kept but those whose last handle has gone: these are being released.
    void lose_all(loss_reason why);
    std::size_t size() const { return queue_.size(); }

    // A renewal that a caller asks for, outside the renewal_timing, as one request. The worst of
    // the answers: `lost` before `unknown` before `renewed`. REQUIRES: not empty.
    using batch = std::vector<std::shared_ptr<lease_state>>;
    static boost::asio::awaitable<renewal> renew_now(std::shared_ptr<renewer> self, batch all);
    // The store's answer to a renewal could not say more clearly that it is lost.
    void lose_now(const std::shared_ptr<lease_state>& who, loss_reason why);

    double uniform() { return std::uniform_real_distribution<double>{0.0, 1.0}(random_); }

private:
    struct sooner {
        bool operator()(const std::shared_ptr<lease_state>& a,
                        const std::shared_ptr<lease_state>& b) const {
            return std::tie(a->scheduled, a->key, a->token) <
                   std::tie(b->scheduled, b->key, b->token);
        }
    };

    void tick(instant now);
    // True if the lease state is due to be renewed now.
    bool advance(const std::shared_ptr<lease_state>& who, instant now);
    void schedule(const std::shared_ptr<lease_state>& who, instant when);
    void lose(const std::shared_ptr<lease_state>& who, loss_reason why);
    void set_timer();
    void take_answer(const std::shared_ptr<lease_state>& who, instant sent, renewal answer);
    void report_renewal(const lease_state& who, renewal answer, instant now);
    static boost::asio::awaitable<void> renew(std::shared_ptr<renewer> self, batch due,
                                              instant sent);

    // Constant after construction
    boost::asio::any_io_executor executor_;
    std::shared_ptr<lease_store> store_;
    std::shared_ptr<observer> watcher_;
    // State
    net::boot_timer timer_;
    std::set<std::shared_ptr<lease_state>, sooner> queue_;
    std::minstd_rand random_;
};

}  // namespace pawl::runtime
