// What the files of the dispatcher share.
#pragma once

#include "schedule/dispatcher.hpp"
#include "schedule/fair_share.hpp"

namespace pawl::schedule {

struct dispatcher::track {
    track(const boost::asio::any_io_executor& executor, std::shared_ptr<const job_plan> how,
          std::weak_ptr<job> home, std::uint32_t number)
        : plan{std::move(how)},
          owner{std::move(home)},
          partition{number},
          key{plan->key(number)},
          decisions{plan->lane},
          timer{executor} {}

    // The plan that what begins from now on follows.
    std::shared_ptr<const job_plan> plan;
    std::weak_ptr<job> owner;
    std::uint32_t partition;
    std::string key;
    lane decisions;
    net::timer timer;
    bool at_work = false;
    bool woken = false;
    bool replaced = false;     // its job is gone, or has other partitions by now
    bool telling = false;      // which firings were skipped
    fence_token busy_under{};  // who held the key when it was last found busy

    // A claim of an occurrence whose outcome is unknown. As long as it is wanted it is asked for
    // under the same id; after that it is withdrawn before anything else is claimed.
    struct unresolved_claim {
        std::shared_ptr<runtime::kept_claim> claim;
        occurrence firing{};
        lease_options options{};
    };
    std::optional<unresolved_claim> unresolved{};

    // Who was seen holding the key, for which firing, and whether that was so at two firings: then
    // the holder takes long, or is dead and has perhaps written nothing down.
    struct sighting {
        occurrence firing{};
        fence_token holder{};
        std::string owner;
        bool twice = false;
    };
    std::optional<sighting> seen{};
};

struct dispatcher::job {
    std::shared_ptr<const job_plan> plan;
    entry_id entry = 0;
    std::vector<std::shared_ptr<track>> tracks;
    std::optional<job_pause> paused;
    std::uint32_t running = 0;
    std::uint32_t ended = 0;  // since it was last pruned
    // Who is to have which partition, as long as the same nodes are alive.
    std::optional<fair_shares> shares;
    std::vector<std::string> shared_among;
};

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
