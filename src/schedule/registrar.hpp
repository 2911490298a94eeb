// Tells the journal that this node lives and what its jobs are, and learns from it which other
// nodes do, since when there are these jobs, and how far this node's clock is off.
//
// A driver: what the clock is worth is node_clock's to say, and where a schedule stands positions'.
#pragma once

#include "net/timer.hpp"
#include "schedule/execution/runner.hpp"
#include "schedule/job/job_table.hpp"
#include "schedule/queue/positions.hpp"
#include "schedule/queue/ranking.hpp"
#include "schedule/queue/work_count.hpp"
#include "schedule/state/node_state.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace pawl::schedule {

// On the loop only.
class registrar {
public:
    registrar(node_state& node, job_table& jobs, positions& where, const runner& runs,
              std::size_t runs_max);

    // Until the node signs off: as long as anything runs on it, it is there for the others.
    boost::asio::awaitable<void> keep_registered();
    // For as long as the node lives.
    boost::asio::awaitable<void> keep_published();
    // Once. No heartbeat of this node comes behind it.
    boost::asio::awaitable<void> sign_off();

    boost::asio::awaitable<void> register_first();
    boost::asio::awaitable<void> register_node();
    boost::asio::awaitable<void> publish_jobs();
    // What the journal knows of a job. False where that is not the job as it is here.
    bool take_since(const job_entry& told);

    // Off the list with the next publication.
    void retire(std::string job) {
        if (node_.records) retired_.push_back(std::move(job));
    }
    void publish_soon() {
        digest_.clear();
        has_news_ = true;
        publish_timer_.cancel();
    }
    void wake_up();

    // This node and those that have the same jobs and take part in shares, sorted.
    const std::vector<std::string>& live_nodes() const noexcept { return live_; }
    // The same nodes, in the order in which they ask for an occurrence. Alone where there is no
    // journal.
    const node_ranking& ranking() const noexcept { return ranking_; }
    // Whether the node whose leases have this owner was heard of lately; draining ones too.
    bool hears(const std::string& owner) const { return heard_.contains(owner); }

private:
    async<void> send_heartbeat();
    node_entry entry();
    const std::string& digest();
    void take_live(const std::vector<const node_entry*>& live);
    boost::asio::awaitable<std::optional<failure>> publish_some(
        std::vector<job_entry> entries, std::unordered_map<std::string, std::string>& rejected);
    void tell_rejected(const std::unordered_map<std::string, std::string>& rejected);
    void on_answer(const result<void>& told);
    boost::asio::awaitable<void> retire_jobs();
    void compare_clocks(std::int64_t seen, wall_instant sent, wall_instant answered);

    node_state& node_;
    job_table& jobs_;
    positions& positions_;
    const runner& runner_;
    const std::size_t runs_max_;
    const std::int64_t started_at_;
    std::vector<std::string> live_;
    node_ranking ranking_;
    std::string digest_;  // of the jobs; empty: they have changed
    std::unordered_set<std::string> heard_;
    std::vector<std::string> retired_;  // jobs that are gone, and have yet to be taken off the list
    std::vector<std::string> leaving_;  // those that are being taken off, or were not the last time
    bool has_news_ = false;             // the jobs have changed since they were told
    bool unpublished_ = false;          // the journal did not take what the jobs are
    std::unordered_set<std::string> rejected_;  // of the jobs, each alone, which was told
    bool unretired_ = false;                    // nor what is gone
    bool signed_off_ = false;
    work_count heartbeats_;  // that have not been answered yet
    net::timer registry_timer_;
    net::timer publish_timer_;
};

}  // namespace pawl::schedule
