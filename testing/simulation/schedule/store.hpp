// The store and the journal of a simulated world: the real rules of leases over a map, and as much
// of a journal as schedules need, on virtual time.
#pragma once

#include "stores/rules/rules.hpp"
#include "testing/simulation/schedule/plan.hpp"
#include "testing/simulation/timeline.hpp"

#include <pawl/spi/journal.hpp>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pawl::simulation::schedules {

class referee;

constexpr millis max_skew{60'000};

// One firing of a key, as it is written down.
struct row {
    run_status status = run_status::started;
    delivery mode = delivery::at_most_once;
    fence_token token{};
    nanos last_beat{};
    std::size_t job = 0;
    std::uint32_t partition = 0;
};

struct orphan {
    std::size_t job;
    std::uint32_t partition;
    occurrence firing;
};

// Each call is one atomic step at the instant at which it is made. Used by one thread.
class shared_store {
public:
    shared_store(const world_plan& plan, const timeline& time, referee& judge)
        : plan_{plan}, time_{time}, judge_{judge} {}

    // Leases
    verdict acquire(const claim& wanted);
    void withdraw(const withdrawal& given_up);
    bool renew(const std::string& key, fence_token token, millis ttl);
    void release(const std::string& key, fence_token token, std::optional<occurrence> done);
    std::optional<occurrence> last_done(const std::string& key) const;
    bool holds(const std::string& key, fence_token token) const;
    // Wakes once, when the key may have become free.
    void listen(const std::string& key, std::function<void()> wake);

    // Runs
    beginning begin(std::size_t job, std::uint32_t partition, const std::string& key,
                    occurrence firing, fence_token token, delivery mode);
    void beat(const std::string& key, occurrence firing, fence_token token);
    void finish(const std::string& key, occurrence firing, fence_token token, run_status how);
    void skip(const std::string& key, occurrence firing, schedule::skip_reason why);
    const row* find(const std::string& key, occurrence firing) const;
    // Started and silent, and their key is not held by them.
    void judge_stale(nanos silence_max);
    std::vector<orphan> orphans() const;
    // Runs that are neither over nor going to be.
    std::size_t open() const { return open_.size(); }

    // The board and the registry
    std::set<std::size_t> paused;
    std::map<std::string, nanos> seen;  // nodes

    // Set by the world
    bool up = true;

private:
    using run_key = std::pair<std::string, std::int64_t>;

    rules::store_time now() const;
    void changed(const std::string& key);

    // Constant after construction
    const world_plan& plan_;
    const timeline& time_;
    referee& judge_;
    // State
    std::map<std::string, rules::lease_state> keys_;
    std::multimap<std::string, std::function<void()>> listeners_;
    std::map<run_key, row> rows_;
    std::set<run_key> open_;
};

}  // namespace pawl::simulation::schedules
