// One machine with one process that does what src/schedule's dispatcher does, on virtual time: the
// timetable, the lanes and the shares are the real ones. It may freeze, crash, be cut off, be
// deployed anew, and its wall clock may step.
#pragma once

#include "schedule/fair_share.hpp"
#include "testing/simulation/schedule/referee.hpp"
#include "testing/simulation/schedule/store.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pawl::simulation::schedules {

class node;

// What all nodes share, and outlives them.
struct world {
    world(std::uint64_t seed, plant bug)
        : random{seed}, plan{draw_plan(random, bug)}, judge{plan, time}, store{plan, time, judge} {}
    ~world();
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    dice random;
    world_plan plan;
    timeline time;
    referee judge;
    shared_store store;
    bool faulty = true;
    std::vector<std::unique_ptr<node>> nodes;
};

class node {
public:
    node(world& home, std::size_t index);
    ~node();

    void start();
    // What may happen to it
    void crash(nanos down);
    void freeze(nanos how_long);
    // Off the network, or only from what comes back: then requests take effect unanswered.
    enum class direction { both, answers };
    void cut(nanos how_long, direction which);
    // Runs end, or are told to; then the next version starts.
    void deploy();
    void step_clock(nanos by);
    void set_clock(nanos error);
    // The store or the network has come or gone.
    void report_health();

    std::string name() const { return "node-" + std::to_string(index_); }

private:
    // One key of a job on this node.
    struct track {
        track(std::size_t job, std::uint32_t partition, std::string key,
              const schedule::lane_rules& rules)
            : job{job}, partition{partition}, key{std::move(key)}, decisions{rules} {}
        std::size_t job;
        std::uint32_t partition;
        std::string key;
        schedule::lane decisions;
        std::uint64_t wakes = 0;  // the last timer that counts
        // A claim whose outcome is unknown: asked for again, or withdrawn before anything else.
        struct unresolved_claim {
            std::string id;
            occurrence firing{};
            nanos until{};
        };
        std::optional<unresolved_claim> unresolved{};
        bool withdrawing = false;
    };
    // A claim on its way, sent again under the same id until it is answered.
    struct errand {
        std::shared_ptr<track> where;
        schedule::wish wanted;
        std::string id;
        nanos sent{};
        nanos first_sent{};
        nanos patient_until{};
        bool unanswered = false;  // a request under this id may have been granted
    };
    // A command and its guard, which outlive a process that freezes, and no crash.
    struct run {
        std::shared_ptr<track> where;
        occurrence firing{};
        fence_token token{};
        delivery mode = delivery::at_most_once;
        nanos ends{};
        nanos kill_at{};
        bool begun = false;
        bool over = false;
        bool completed = false;
        bool lost = false;
    };

    // The process
    void enter(std::function<void()> what);
    void after(nanos delay, std::function<void()> what);
    void ask(std::function<std::function<void()>()> serve, std::function<void()> unknown);
    bool reachable() const;
    bool hears() const;
    instant clock() const;
    wall_instant wall() const;
    wall_instant now() const { return wall() - offset_; }

    // Time
    void find_positions();
    void keep_time();
    void notice_steps(wall_instant now);
    void put_back(wall_instant now, std::optional<wall_instant> last_right);
    void take_due(const schedule::due_firing& due, wall_instant now);
    // The board, the registry and the reconciler
    void do_duties();
    void compare_clocks();
    void read_board();

    // From a wish to a run that is over
    void drive(const std::shared_ptr<track>& which);
    void claim_for(const std::shared_ptr<track>& which, millis patience);
    bool catches_up(const track& which) const;
    bool has_been_skipped(const errand& what) const;
    void leave_skipped(const std::shared_ptr<errand>& what);
    void send(const std::shared_ptr<errand>& what);
    void answered(const std::shared_ptr<errand>& what, const verdict& answer);
    void run_unless_skipped(const std::shared_ptr<errand>& what, fence_token token);
    void listen(const std::shared_ptr<errand>& what, millis remaining);
    void settle_busy(const std::shared_ptr<errand>& what, const busy& other);
    void unanswered(const std::shared_ptr<errand>& what);
    void keep(const std::shared_ptr<errand>& what);
    void withdraw(const std::shared_ptr<track>& which, std::function<void(bool)> then);
    void withdraw_unwanted(const std::shared_ptr<track>& which);
    std::string fresh_id();
    void perform(const std::shared_ptr<errand>& what, fence_token token);
    void begun(const std::shared_ptr<run>& one, const beginning& told);
    void renew(const std::shared_ptr<run>& one);
    void guard(const std::shared_ptr<run>& one);
    void end(const std::shared_ptr<run>& one, bool completed);
    void conclude(const std::shared_ptr<run>& one);
    void release(const std::shared_ptr<run>& one, std::optional<occurrence> done, int attempts);
    void tell_skipped(track& which);
    void lose_runs();

    // Constant after construction
    world& home_;
    const std::size_t index_;
    // The machine
    nanos error_{};  // of the wall clock, at error_since_
    nanos error_since_{};
    double drift_ = 0;
    nanos frozen_until_{};
    nanos cut_until_{};
    nanos deaf_until_{};
    // The process
    std::uint64_t life_ = 0;
    bool alive_ = false;
    bool ready_ = false;
    bool draining_ = false;
    std::vector<std::pair<std::uint64_t, std::function<void()>>> waiting_;
    std::unique_ptr<schedule::timetable> table_;
    std::vector<std::shared_ptr<track>> tracks_;
    std::vector<std::shared_ptr<run>> runs_;
    std::vector<std::string> live_nodes_;
    std::set<std::size_t> paused_;
    std::chrono::microseconds offset_{0};    // of the wall clock from the journal's
    std::uint64_t looks_ = 0;                // the last timer of keep_time() that counts
    std::optional<wall_instant> first_due_;  // for the bug that looks at it for ever
    wall_instant last_wall_{};
    wall_instant caught_up_until_{};
    instant last_seen_{};
    struct jump {
        wall_instant from;
        std::chrono::microseconds by;
    };
    std::optional<jump> jumped_;  // forward, as far as that is known
    std::uint64_t ids_ = 0;
};

}  // namespace pawl::simulation::schedules
