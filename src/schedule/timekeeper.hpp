// Hands what comes due to the queues of its keys, and holds it back where it is another node's
// share.
//
// A driver: what is due is the timetable's to say, and what the clock is worth node_clock's.
#pragma once

#include "schedule/acquirer.hpp"
#include "schedule/job_table.hpp"
#include "schedule/node_state.hpp"
#include "schedule/registrar.hpp"
#include "schedule/timetable.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>

namespace pawl::schedule {

// How long others leave a partition to the node whose share it is.
constexpr millis share_hold_back{2'000};

// On the loop only.
class timekeeper {
public:
    timekeeper(node_state& node, job_table& jobs, const registrar& nodes, acquirer& keys)
        : node_{node}, jobs_{jobs}, registrar_{nodes}, acquirer_{keys} {}

    // For as long as the node lives.
    boost::asio::awaitable<void> keep_time();
    // A job that comes, or changes, while the node runs.
    void schedule(known_job& which);

private:
    void put_clock_back(wall_instant now, std::optional<wall_instant> last_right);
    void take_due(const due_occurrence& due, wall_instant now);
    millis hold_back_of(known_job& which, const track& one);

    node_state& node_;
    job_table& jobs_;
    const registrar& registrar_;
    acquirer& acquirer_;
};

}  // namespace pawl::schedule
