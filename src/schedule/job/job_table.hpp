// The jobs of a node: for each its plan, its place in the timetable, and the queues of its keys.
#pragma once

#include "net/timer.hpp"
#include "runtime/engine.hpp"
#include "schedule/job/begun_occurrences.hpp"
#include "schedule/job/job_plan.hpp"
#include "schedule/queue/fair_share.hpp"
#include "schedule/queue/key_state.hpp"
#include "schedule/timing/timetable.hpp"

#include <pawl/options.hpp>
#include <pawl/spi/journal.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace pawl::schedule {

struct known_job;

// A key of a job: its queue, and how far this node is with what stands first in it.
struct track {
    track(const boost::asio::any_io_executor& executor, std::shared_ptr<const job_plan> how,
          std::weak_ptr<known_job> home, std::uint32_t number)
        : plan{std::move(how)},
          owner{std::move(home)},
          partition{number},
          key{plan->key(number)},
          decisions{plan->queue},
          timer{executor} {}

    // The plan that what begins from now on follows.
    std::shared_ptr<const job_plan> plan;
    std::weak_ptr<known_job> owner;
    std::uint32_t partition;
    std::string key;
    key_state decisions;
    net::timer timer;
    bool at_work = false;
    bool woken = false;
    bool replaced = false;     // its job is gone, or has other partitions by now
    bool is_watched = false;   // whether others have run what is left to them
    bool telling = false;      // which occurrences were skipped
    fence_token busy_under{};  // who held the key when it was last found busy

    // A claim of an occurrence whose outcome is unknown. As long as it is wanted it is asked for
    // under the same id; after that it is withdrawn before anything else is claimed.
    struct unresolved_claim {
        std::shared_ptr<runtime::kept_claim> claim;
        pawl::occurrence occurrence{};
        lease_options options{};
        bool has_run = false;  // without its lease, so that it is not to be given back
    };
    std::optional<unresolved_claim> unresolved{};

    // Who was seen holding the key, for which occurrence, and whether that was so at two
    // occurrences: then the holder takes long, or is dead and has perhaps recorded nothing.
    struct observation {
        pawl::occurrence occurrence{};
        fence_token holder{};
        std::string owner;
        bool twice = false;
        pawl::occurrence at{};  // which was due when it was first seen
    };
    std::optional<observation> seen{};
};

struct known_job {
    std::shared_ptr<const job_plan> plan;
    entry_id entry = 0;
    std::vector<std::shared_ptr<track>> tracks;
    std::optional<job_pause> paused;
    // Also those that have begun before the job was removed and added again.
    std::shared_ptr<std::uint32_t> running = std::make_shared<std::uint32_t>(0);
    std::uint32_t rows = 0;  // that this node has written
    // Here, as a reload may replace the tracks while what they began has yet to be recorded.
    begun_occurrences begun{};
    // Who is to have which partition, as long as the same nodes are alive.
    std::optional<fair_shares> shares;
    std::vector<std::string> shared_among;

    // Told of each row. More go with one of sixteen than come until the next.
    bool is_time_to_prune() noexcept { return ++rows % 16 == 1; }
};

// On the loop only.
class job_table {
public:
    using by_name = std::map<std::string, std::shared_ptr<known_job>, std::less<>>;

    const by_name& all() const noexcept { return jobs_; }
    std::size_t size() const noexcept { return jobs_.size(); }
    // Null for one that is not there.
    std::shared_ptr<known_job> find(const std::string& name) const;
    std::shared_ptr<known_job> of(entry_id entry) const;
    // Added, without a plan, where it is not there.
    std::shared_ptr<known_job> find_or_add(const std::string& name);
    // Out of the timetable as well. Those of its runs that go on keep what they need.
    void remove(const std::string& name);
    std::vector<std::string> names_beside(const std::unordered_set<std::string>& kept) const;

    // A job that comes, changes or goes on while the node runs: what came due until `since` is
    // past. False for one that has no schedule.
    bool schedule_from(wall_instant since, wall_instant now, known_job& which);
    timetable& times() noexcept { return times_; }
    const timetable& times() const noexcept { return times_; }

private:
    by_name jobs_;
    std::map<std::string, std::weak_ptr<std::uint32_t>> running_;  // of those that were removed
    std::unordered_map<entry_id, std::weak_ptr<known_job>> entries_;
    entry_id next_entry_ = 0;
    timetable times_;
};

}  // namespace pawl::schedule
