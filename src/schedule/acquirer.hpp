// From what the queue of a key wants to a grant, or to what the queue is told instead.
//
// A driver: the queue says what to claim and when, the store who may, and this does it. One
// coroutine works on each key that wants anything.
#pragma once

#include "runtime/engine.hpp"
#include "schedule/execution/runner.hpp"
#include "schedule/job/job_table.hpp"
#include "schedule/queue/positions.hpp"
#include "schedule/queue/run_capacity.hpp"
#include "schedule/reconciler.hpp"
#include "schedule/state/audit_backlog.hpp"
#include "schedule/state/control_cache.hpp"
#include "schedule/state/node_state.hpp"
#include "schedule/state/skip_recorder.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace pawl::schedule {

// Whom it hands on to, and what it goes by.
struct acquirer_parts {
    const positions& where;
    control_cache& control;
    runner& runs;
    skip_recorder& skips;
    reconciler& lost;
};

// On the loop only.
class acquirer {
public:
    acquirer(node_state& node, acquirer_parts others, std::size_t runs_max)
        : node_{node}, others_{others}, capacity_{runs_max} {}

    // The queue of the key has changed: whatever it wants by now is done.
    void wake(const std::shared_ptr<track>& which);
    // The job is gone, or has other partitions. What runs goes on; what waits, perhaps for a long
    // time, learns of it now.
    void let_go(const std::shared_ptr<track>& which);
    // Who was seen holding the key while `latest` is left to others.
    void note_holder(const std::shared_ptr<track>& which, const std::optional<record>& seen,
                     occurrence latest);
    // What waits for room on this node waits no longer.
    void send_away() { capacity_.send_away(); }

private:
    using won_lease = std::shared_ptr<runtime::lease_state>;

    boost::asio::awaitable<void> work(std::shared_ptr<track> which);
    boost::asio::awaitable<void> put_off(std::shared_ptr<track> which, key_state::act next);
    bool may_fire(const track& which) const;
    bool catches_up(const track& which) const;
    boost::asio::awaitable<bool> leave_skipped(std::shared_ptr<track> which);

    boost::asio::awaitable<void> claim(std::shared_ptr<track> which, millis wait);
    boost::asio::awaitable<bool> await_turn(std::shared_ptr<track> which, millis wait);
    boost::asio::awaitable<bool> take_turn(std::shared_ptr<track> which);
    void leave_turn(known_job& home);
    boost::asio::awaitable<void> begin_without_lease(std::shared_ptr<track> which, failure why);
    boost::asio::awaitable<void> run_without_lease(std::shared_ptr<track> which, failure why);
    void tell_fail_open(const std::string& job, const std::string& why);
    void audit_fail_open(const std::string& job, const std::string& why);
    async<void> audit_once(const untold_audit& one);
    boost::asio::awaitable<void> keep_auditing();
    boost::asio::awaitable<void> perform_unless_skipped(std::shared_ptr<track> which, won_lease won,
                                                        delivery mode,
                                                        std::optional<occurrence> claimed);

    boost::asio::awaitable<void> settle_done(std::shared_ptr<track> which, occurrence last);
    boost::asio::awaitable<void> settle_busy(std::shared_ptr<track> which, busy other);
    void look_for_the_dead(const std::shared_ptr<track>& which);

    node_state& node_;
    acquirer_parts others_;
    run_capacity capacity_;
    audit_backlog unaudited_;
    bool is_auditing_ = false;
};

}  // namespace pawl::schedule
