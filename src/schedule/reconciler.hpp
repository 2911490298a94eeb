// Looks, one node at a time, after the runs of nodes that are gone: those without a heartbeat, and
// those that were lost before a line was written about them.
//
// A driver: what becomes of them is runs::resolve_stale_run()'s to say. Beside its rounds it
// records, for other drivers, how an occurrence ended whose own node cannot any more.
#pragma once

#include "net/timer.hpp"
#include "schedule/job/job_table.hpp"
#include "schedule/queue/positions.hpp"
#include "schedule/registrar.hpp"
#include "schedule/state/control_cache.hpp"
#include "schedule/state/node_state.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace pawl::schedule {

// An occurrence that was granted to a node which may have died before it wrote a line about it.
struct lost_beginning {
    occurrence which{};
    fence_token token{};
    std::string owner;
};

// On the loop only.
class reconciler {
public:
    reconciler(node_state& node, const job_table& jobs, const positions& where,
               const control_cache& control, const registrar& nodes);

    // For as long as the node lives.
    boost::asio::awaitable<void> reconcile();
    void wake_up() { timer_.cancel(); }

    // Until it is told: no other node looks at that occurrence any more, as the store remembers a
    // later one.
    boost::asio::awaitable<void> keep_telling_lost(std::shared_ptr<track> which,
                                                   lost_beginning what);
    // Begins and ends the run of an occurrence in the place of who cannot. False when the journal
    // has not answered.
    boost::asio::awaitable<bool> write_lost(run_start start, std::string reason);

private:
    bool may_judge() const;
    boost::asio::awaitable<void> judge_stale_runs();
    async<bool> judge_stale(const run_record& one);
    void forget_judged(const std::unordered_set<std::string>& seen);
    boost::asio::awaitable<void> find_lost_beginnings();
    async<void> find_lost_beginning(std::shared_ptr<track> one, std::optional<record> seen);
    // Whether the node to which that was granted may record itself what became of it.
    bool may_still_tell(const track& which, const std::string& owner, occurrence what) const;
    boost::asio::awaitable<bool> tell_lost(std::shared_ptr<track> which, lost_beginning what);

    node_state& node_;
    const job_table& jobs_;
    const positions& positions_;
    const control_cache& control_;
    const registrar& registrar_;
    net::timer timer_;
    // By run: since when it has been seen stale, and without its key.
    std::unordered_map<std::string, instant> unheld_since_;
    std::unordered_map<std::string, std::int64_t> begun_;  // by key: known to have a row
    std::size_t keys_looked_at_ = 0;                       // for lost beginnings, since the start
};

}  // namespace pawl::schedule
