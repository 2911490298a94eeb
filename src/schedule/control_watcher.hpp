// Reads the control state and does what it says: pauses, runs that are asked for by hand, cancels,
// and abandoned runs that are to be taken up again.
//
// A driver: what the control state has said last is kept in control_cache. A job's schedule waits
// until the control state was read for the first time, and a node that could not publish its jobs
// before learns then since when they have been due.
#pragma once

#include "net/timer.hpp"
#include "schedule/acquirer.hpp"
#include "schedule/execution/runner.hpp"
#include "schedule/job/job_table.hpp"
#include "schedule/position_finder.hpp"
#include "schedule/queue/positions.hpp"
#include "schedule/reconciler.hpp"
#include "schedule/registrar.hpp"
#include "schedule/state/control_cache.hpp"
#include "schedule/state/node_state.hpp"
#include "schedule/timekeeper.hpp"

#include <boost/asio/awaitable.hpp>

#include <deque>
#include <string>
#include <vector>

namespace pawl::schedule {

// Whom it tells, and asks.
struct control_watcher_parts {
    job_table& jobs;
    const positions& where;
    control_cache& control;
    registrar& nodes;
    position_finder& finder;
    reconciler& lost;
    runner& runs;
    acquirer& keys;
    timekeeper& times;
};

// On the loop only.
class control_watcher {
public:
    control_watcher(node_state& node, control_watcher_parts others)
        : node_{node}, others_{others}, timer_{node.loop.get_executor()} {}

    // For as long as the node lives.
    boost::asio::awaitable<void> watch();
    void wake_up() { timer_.cancel(); }

    // Once; where there is no journal there is no control state.
    boost::asio::awaitable<void> look();
    // Before the journal is asked since when the jobs have been due: of what is paused now, a later
    // look sees that it was resumed.
    boost::asio::awaitable<void> note_pauses();

private:
    void on_not_read(const failure& why);
    boost::asio::awaitable<bool> learn_what_is_due();
    boost::asio::awaitable<void> follow(control_state seen);
    void take_pauses(std::vector<job_pause> pauses);
    void follow_pauses(std::vector<job_pause> pauses);
    boost::asio::awaitable<void> resume_all();
    boost::asio::awaitable<bool> resume(std::string name);
    void offer_trigger(const run_trigger& one, instant now);
    void offer_orphan(const run_record& one);
    boost::asio::awaitable<void> close_done_orphan(run_record one, fence_token token,
                                                   std::string owner);

    node_state& node_;
    control_watcher_parts others_;
    net::timer timer_;
    std::deque<std::string> resuming_;  // since when they go on is still to be asked
    bool is_unread_ = false;            // which was told
};

}  // namespace pawl::schedule
