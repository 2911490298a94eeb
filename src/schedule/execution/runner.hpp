// From a grant to its release: the attempts of a run, and what is recorded about them.
//
// A driver: the body does the work, the run session writes, and what an end means is
// runs::judge()'s and runs::settle()'s.
#pragma once

#include "net/timer.hpp"
#include "runs/session.hpp"
#include "schedule/job/body.hpp"
#include "schedule/job/job_table.hpp"
#include "schedule/state/control_cache.hpp"
#include "schedule/state/node_state.hpp"

#include <pawl/lease.hpp>

#include <boost/asio/awaitable.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace pawl::schedule {

// A run that is taken up again and again beyond its retries kills the node that runs it.
constexpr int takeovers_max = 10;
// Before SIGKILL has to have been carried out.
constexpr millis kill_lead_max{20};

// What runs, and what stands for it.
struct active_run {
    std::shared_ptr<track> where;
    std::shared_ptr<const job_plan> plan;
    runs::run_session::self_ptr session;
    std::shared_ptr<body> doing;
    run_order order;
    std::optional<stop_cause> cause;
    bool is_at_least_once = false;  // and an occurrence
    bool worked = false;            // one of its attempts here has begun its work
    std::uint64_t number = 0;       // of those that began on this node; 0: it has not
    instant begun{};
    lease_clock::duration waited{0};  // between its attempts
    instant stop_at = instant::max();
    instant kill_at = instant::max();
    std::shared_ptr<net::timer> retry_timer;  // while it waits for its next attempt
    std::shared_ptr<net::timer> timeout_timer;

    void stop(stop_cause why) {
        if (!cause) cause = why;
        if (doing) doing->stop(why);
        if (retry_timer) retry_timer->cancel();
    }
    void extend(instant stop, instant valid_until, millis ttl) {
        const auto lead =
            std::min<lease_clock::duration>(kill_lead_max, lease_clock::duration{ttl} / 50);
        stop_at = stop;
        kill_at = valid_until - lead;
        if (doing) doing->extend(stop_at, kill_at);
    }
};

// On the loop only.
class runner {
public:
    runner(node_state& node, control_cache& control);

    // What was granted, as it was asked for: the job may have changed since. Without a lease where
    // the job may run so. Ends with its release. Says that it begins once the journal has not
    // turned it back. REQUIRES: the queue of the key has been told of the grant.
    boost::asio::awaitable<void> perform(std::shared_ptr<track> which, std::optional<lease> held,
                                         delivery mode, std::function<void()> on_begins = {});

    // Tells the journal that what runs here lives, until the node has stopped and nothing is at
    // work any more.
    boost::asio::awaitable<void> beat();
    void wake_up() { beat_timer_.cancel(); }

    std::size_t running() const noexcept { return active_.size(); }
    // The longest time that any run may take to end once it is told to.
    millis longest_grace() const;
    // Nothing for one that does not run here.
    void stop(const std::string& run, stop_cause why);
    // What waits for its next attempt has nothing to finish here.
    void stop_waiting();
    // What runs is told to end, and what begins from now on as well.
    void stop_all();

private:
    boost::asio::awaitable<bool> beat_for(std::span<const std::shared_ptr<active_run>> runs);

    std::shared_ptr<active_run> prepare(const std::shared_ptr<track>& which);
    void announce(const std::shared_ptr<active_run>& run, const run_start& start,
                  const begin_result& begun);

    boost::asio::awaitable<ending> do_work(std::shared_ptr<active_run> run, const run_start& start,
                                           const begin_result& begun, lease* held);
    boost::asio::awaitable<run_end> carry_out(std::shared_ptr<active_run> run, lease* held);
    boost::asio::awaitable<run_end> attempt_until_over(std::shared_ptr<active_run> run,
                                                       lease* held);
    boost::asio::awaitable<work_result> attempt_once(std::shared_ptr<active_run> run);
    boost::asio::awaitable<void> watch_timeouts(std::shared_ptr<active_run> run, int attempt);
    boost::asio::awaitable<void> pause(std::shared_ptr<active_run> run, millis wait);
    boost::asio::awaitable<void> begin_again(std::shared_ptr<active_run> run, run_end last);

    node_state& node_;
    control_cache& control_;
    // In the order in which they began: a row may be resumed here while a body that does not heed
    // its token works on under it.
    std::map<std::uint64_t, std::shared_ptr<active_run>> active_;
    std::uint64_t begun_ = 0;  // in all
    std::shared_ptr<runs::output_room> output_room_ = std::make_shared<runs::output_room>();
    net::timer beat_timer_;
    bool stops_all_ = false;
};

}  // namespace pawl::schedule
