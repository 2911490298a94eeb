// The store of a simulation: the real rules over a map, on virtual time, with bugs to be planted.
#pragma once

#include "test_support/simulation/plan.hpp"
#include "test_support/simulation/referee.hpp"
#include "test_support/simulation/timeline.hpp"

#include <pawl/spi/rules.hpp>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pawl::simulation {

// The wall clock of the store when a simulation begins.
constexpr std::chrono::seconds wall_at_start{1'700'000'000};

// Each verb is one atomic step at the instant at which it is called. What is guarded by tokens
// lives here too, but loses nothing when the store does.
class simulated_store {
public:
    simulated_store(const world_plan& plan, const timeline& time, referee& judge)
        : plan_{plan}, time_{time}, judge_{judge}, born_{now()} {}

    bool up() const { return time_.now() >= down_until_; }
    void restart(nanos outage);
    void lose_data(nanos outage);

    acquire_result<grant> acquire(const claim& wanted, nanos callers_wall);
    bool withdraw(const withdrawal& given_up);
    renewal renew(const held_lease& lease);
    bool release(const std::string& key, fence_token token, const release_options& how);
    bool force_release(const std::string& key, fence_token token, millis delay);
    // The operator force-releases the holder of the key.
    void force_release(const std::string& key);
    std::optional<record> inspect(const std::string& key) const;
    page list(const std::string& prefix, const std::string& after, std::size_t limit) const;
    fence_result fence(const std::string& resource, fence_token token, fence_rule rule);
    void listen(const std::string& key, fence_token seen, std::function<void()> wake);
    void write(const std::string& key, fence_token token);

    // Whether a holder that trusts this token is right, or is excused: force-released, or lost by
    // the store with its data.
    bool backs(const std::string& key, fence_token token) const;
    std::optional<occurrence> last_done(const std::string& key) const;
    rules::store_time now() const;

private:
    struct listener {
        fence_token seen;
        std::function<void()> wake;
    };

    acquire_result<grant> decide(rules::lease_record& state, const claim& wanted,
                                 nanos callers_wall);
    void changed(const std::string& key);
    delivery mode_of(const std::string& key) const;

    // Constant after construction
    const world_plan& plan_;
    const timeline& time_;
    referee& judge_;
    // State
    rules::store_time born_;
    nanos down_until_{0};
    std::map<std::string, rules::lease_record> keys_;
    std::map<std::string, fence_token> guarded_;
    std::multimap<std::string, listener> listeners_;
    std::set<std::pair<std::string, fence_token>> excused_;
};

}  // namespace pawl::simulation
