// What the drivers of one node share: whom they ask, what the time is, and how the node stands.
//
// Each driver is handed this and the other drivers that it needs by reference. All of them live and
// die with the dispatcher, which spawn() keeps alive for as long as one of their coroutines runs.
#pragma once

#include "base/identity.hpp"
#include "net/loop.hpp"
#include "net/timer.hpp"
#include "runs/session.hpp"
#include "schedule/queue/work_count.hpp"
#include "schedule/state/node_parts.hpp"
#include "schedule/timing/node_clock.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <random>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>

namespace pawl::schedule {

// How long a run waits for its journal (runs::journal_timeout) once that is known to be down: a
// job of every second keeps its pace without it.
constexpr millis journal_timeout_down{100};
// What has to be recorded and is not part of a run is written when the journal is back, if that
// is within an hour.
constexpr millis journal_retry{5'000};
constexpr int journal_tries_max = 720;

// On the loop only.
struct node_state {
    explicit node_state(node_parts made_of);

    // As the schedules go by it.
    wall_instant now() const { return clock.corrected(loop.wall()); }
    // From 0 to 1.
    double uniform() { return std::uniform_real_distribution<double>{0.0, 1.0}(random); }
    void log(log_level how, std::string_view line) const {
        if (observer) observer->log(how, line);
    }
    // REQUIRES: `home` is set.
    void spawn(boost::asio::awaitable<void> what);
    // In the background; REQUIRES: `home` and `records` are set.
    void prune(std::string job, std::size_t kept);
    millis timeout_with_journal() const noexcept {
        return journal_down ? journal_timeout_down : runs::journal_timeout;
    }

    // Constant after construction
    net::loop& loop;
    std::shared_ptr<runtime::engine> engine;
    std::shared_ptr<journal> records;  // null: nothing is recorded, no user can ask
    node_identity me;
    millis recording_timeout;
    std::shared_ptr<dispatch_observer> observer;
    std::weak_ptr<const void> home{};  // whose parts coroutines use; set before the first of them

    // State
    node_clock clock;
    net::timer time_changed;      // cancelled so that the timekeeper looks again
    std::stop_source call_off{};  // ends claims that wait
    work_count work;              // on the queues of keys
    std::minstd_rand random;
    base::id_source ids;
    bool ready = false;     // schedules are handed out
    bool stopping = false;  // nothing more is claimed
    bool journal_down = false;
    bool store_down = false;
    bool unpruned = false;          // the last prune failed, which is in the log
    std::set<std::string> pruning;  // jobs whose old runs are being removed
};

}  // namespace pawl::schedule
