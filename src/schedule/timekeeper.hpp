// Hands what comes due to the queues of its keys, to be asked for at once or after others.
//
// A driver: what is due is the timetable's to say, and what the clock is worth node_clock's.
#pragma once

#include "schedule/acquirer.hpp"
#include "schedule/deferred_poller.hpp"
#include "schedule/job/job_table.hpp"
#include "schedule/registrar.hpp"
#include "schedule/state/node_state.hpp"
#include "schedule/timing/timetable.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <memory>
#include <optional>

namespace pawl::schedule {

// On the loop only.
class timekeeper {
public:
    timekeeper(node_state& node, job_table& jobs, const registrar& nodes, acquirer& keys,
               deferred_poller& others)
        : node_{node}, jobs_{jobs}, registrar_{nodes}, acquirer_{keys}, deferred_poller_{others} {}

    // For as long as the node lives.
    boost::asio::awaitable<void> keep_time();
    // A job that comes, or changes, while the node runs.
    void schedule(known_job& which) { schedule(which, node_.now()); }
    // One that goes on: what has come due after `since` is due.
    void schedule(known_job& which, wall_instant since);

private:
    void put_clock_back(wall_instant now, std::optional<wall_instant> last_right);
    void take_due(const due_occurrence& due, wall_instant now);
    // False: it is too late for it.
    bool offer(known_job& which, const std::shared_ptr<track>& one, wall_instant at,
               wall_instant now);
    bool asks_first(const track& one, occurrence what, std::size_t place) const;
    std::size_t place_of(known_job& which, const track& one, occurrence what);
    millis jitter_of(const track& one, occurrence what) const;
    millis interval_of(const known_job& which, wall_instant at) const;

    node_state& node_;
    job_table& jobs_;
    const registrar& registrar_;
    acquirer& acquirer_;
    deferred_poller& deferred_poller_;
};

}  // namespace pawl::schedule
