// Asks the store what of each schedule has run last, and gives the schedules their places.
//
// A driver: from where a schedule goes on is `positions`' to say.
#pragma once

#include "schedule/job/job_table.hpp"
#include "schedule/queue/positions.hpp"
#include "schedule/state/control_cache.hpp"
#include "schedule/state/node_state.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace pawl::schedule {

// On the loop only.
class position_finder {
public:
    position_finder(node_state& node, job_table& jobs, positions& where,
                    const control_cache& control)
        : node_{node}, jobs_{jobs}, positions_{where}, control_{control} {}

    boost::asio::awaitable<void> find();
    // Until all are known. A node that starts while its store is away: what is due meanwhile is due
    // when the store is back.
    boost::asio::awaitable<void> keep_finding();

private:
    using done_occurrences = std::unordered_map<std::string, std::int64_t>;  // by key, the last

    boost::asio::awaitable<bool> read_done(done_occurrences& done);
    boost::asio::awaitable<bool> list_done(std::string prefix, done_occurrences& done);
    boost::asio::awaitable<bool> inspect_done(std::vector<std::string> keys,
                                              done_occurrences& done);
    boost::asio::awaitable<bool> ask_again(failure why, instant end);
    void place(const done_occurrences& done, positions::knowledge how_much);

    node_state& node_;
    job_table& jobs_;
    positions& positions_;
    const control_cache& control_;
};

}  // namespace pawl::schedule
