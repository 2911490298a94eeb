// What the files of the dispatcher share.
#pragma once

#include "schedule/dispatcher.hpp"

namespace pawl::schedule {

struct dispatcher::active_run {
    std::shared_ptr<track> where;
    std::shared_ptr<const job_plan> plan;
    runs::run_session::self_ptr session;
    std::shared_ptr<body> doing;
    run_order order;
    std::optional<stop_cause> cause;
    bool worked = false;  // one of its attempts here has begun its work
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
    void extend(instant stop, instant trust_end, millis ttl) {
        const auto lead =
            std::min<lease_clock::duration>(kill_lead_max, lease_clock::duration{ttl} / 50);
        stop_at = stop;
        kill_at = trust_end - lead;
        if (doing) doing->extend(stop_at, kill_at);
    }
};

}  // namespace pawl::schedule
