// Turns the occurrences of schedules into runs, on one node of many.
//
// It composes the drivers of a node and says when its day begins and ends. The timekeeper offers
// what is due to the queue of each key, the deferred_poller sees whether others have run what was
// left to them, the acquirer claims what a queue wants, the runner runs what was granted; beside
// them the registrar, the control state and the reconciler keep in touch with the other nodes.
// Whatever ends the node in the middle, another one finds enough to go on from: the lease that
// expires, the row that becomes stale.
#pragma once

#include "schedule/acquirer.hpp"
#include "schedule/control_watcher.hpp"
#include "schedule/deferred_poller.hpp"
#include "schedule/execution/runner.hpp"
#include "schedule/job/job_plan.hpp"
#include "schedule/job/job_table.hpp"
#include "schedule/position_finder.hpp"
#include "schedule/queue/positions.hpp"
#include "schedule/reconciler.hpp"
#include "schedule/registrar.hpp"
#include "schedule/state/control_cache.hpp"
#include "schedule/state/node_parts.hpp"
#include "schedule/state/node_state.hpp"
#include "schedule/state/skip_recorder.hpp"
#include "schedule/timekeeper.hpp"
#include "schedule/timing/intervals.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace pawl::schedule {

// On the loop only.
class dispatcher : public std::enable_shared_from_this<dispatcher> {
public:
    using parts = node_parts;
    explicit dispatcher(parts made_of);
    ~dispatcher();

    using self_ptr = std::shared_ptr<dispatcher>;

    // Adds, replaces and removes, so that these are the jobs. What runs goes on; what runs of a job
    // that has changed ends as it began.
    void replace_jobs(std::vector<std::shared_ptr<const job_plan>> jobs);

    // Ends once `stop` is requested and all that ran has ended: runs have `shutdown_grace` to
    // finish, while their leases are renewed, before they are stopped.
    static boost::asio::awaitable<void> run(self_ptr self, std::stop_token stop,
                                            millis shutdown_grace);

    // After run(): ends when nothing is left of what ran, and no lease is held, however long that
    // takes. For bodies that cannot be killed.
    static boost::asio::awaitable<void> outlast(self_ptr self);
    // After run(), for a program that ends: the node is off the list, though something may be left
    // of what ran. What outlast() has done already is not done again.
    static boost::asio::awaitable<void> leave(self_ptr self);

    // Kills runs that have been left to finish.
    void force_stop();

    std::size_t running() const noexcept { return runner_.running(); }
    bool is_ready() const noexcept { return node_.ready; }
    // Until then it is unknown which jobs are paused, and no schedule fires.
    bool knows_pauses() const noexcept { return control_.knows_pauses(); }
    // The next occurrence of a job, for people and metrics.
    std::optional<wall_instant> next_occurrence(const std::string& job) const;

private:
    void take_plan(std::shared_ptr<const job_plan> plan);
    boost::asio::awaitable<void> drain(millis grace);

    // What is known
    node_state node_;
    job_table jobs_;
    positions positions_;
    control_cache control_;
    // What is done about it: each is handed those above that it needs
    runner runner_;
    skip_recorder skips_;
    registrar registrar_;
    reconciler reconciler_;
    acquirer acquirer_;
    deferred_poller deferred_poller_;
    timekeeper timekeeper_;
    position_finder finder_;
    control_watcher control_state_;
    bool placed_ = false;  // what was known at the start has its place in the timetable
    bool forced_ = false;
};

}  // namespace pawl::schedule
