// One machine with one process on it: a real engine and a real dispatcher, on a loop whose time the
// world turns. It may freeze, crash at any await, be cut off, be deployed anew, and its wall clock
// may step.
#pragma once

#include "net/loop.hpp"
#include "net/timer.hpp"
#include "runtime/engine.hpp"
#include "runtime/link.hpp"
#include "schedule/dispatcher.hpp"
#include "test_support/simulation/schedule/world.hpp"

#include <boost/asio/post.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pawl::simulation::schedules {

class command;

class node final : public net::simulated_node {
public:
    node(world& home, std::size_t index);
    ~node();
    node(const node&) = delete;
    node& operator=(const node&) = delete;

    void start();
    // What may happen to it
    void crash(nanos down);
    void freeze(nanos how_long);
    // Off the network, or only from what comes back: then requests take effect unanswered.
    enum class direction { both, answers };
    enum class far_end { all, store, journal };
    void cut(nanos how_long, direction which, far_end what);
    // Runs end, or are told to; then the next version starts.
    void deploy();
    // Reads its configuration anew.
    void reload();
    void step_clock(nanos by);
    // The server is gone, and what waited for it to say something hears of it.
    void lose_connections(side which);
    // The store or the network has come or gone.
    void report_health();

    // For the world. True when something was done.
    bool turn();
    nanos next_event() const;
    void fire();

    // For what stands between the process and the servers.
    world& home() { return home_; }
    std::size_t index() const { return index_; }
    std::uint64_t life() const { return life_; }
    bool lives(std::uint64_t life) const { return process_ && life_ == life; }
    bool reaches(side which) const;
    bool hears(side which) const;
    // The same at each moment of such a span until now.
    bool has_reached(side which, nanos for_how_long) const;
    bool has_heard(side which, nanos for_how_long) const;
    boost::asio::any_io_executor executor() const { return process_->loop.get_executor(); }
    // On the process's loop, if it is still this one; a frozen one does it when it goes on.
    void tell(std::uint64_t life, std::function<void()> what);
    // Called when the connection to this server is lost, as long as `who` is there.
    void on_lost_connection(side which, std::weak_ptr<std::function<void()>> who);
    const edition& edition_of(std::size_t job) const {
        return home_.plan.jobs[job].editions[editions_.at(job)];
    }
    std::size_t edition_number(std::size_t job) const { return editions_.at(job); }
    // Of its leases, in this life.
    std::string owner() const { return name() + ":" + std::to_string(life_); }
    std::string name() const { return "node-" + std::to_string(index_); }

    // Its clocks
    instant now() const override;
    time::wall_instant wall() const override;
    std::uint64_t random() override;
    // When the world's clock will be there.
    nanos world_time(instant at) const;

private:
    class listener;
    // With a server, or with what comes back from it.
    struct contact {
        bool holds = true;
        nanos without_until = -std::chrono::hours{1};  // the last time
    };
    // Everything that dies with it. The loop goes last: it ends the coroutines.
    struct process {
        explicit process(node& home) : loop{home} {}
        // Nothing that outlives it finds its way back.
        ~process() {
            if (link) link->cut();
        }
        process(const process&) = delete;
        process& operator=(const process&) = delete;
        net::loop loop;
        std::shared_ptr<runtime::engine> engine{};
        std::shared_ptr<runtime::link> link{};
        std::shared_ptr<schedule::dispatcher> dispatcher{};
        std::stop_source stop{};
    };

    // With the editions that there are now.
    std::vector<std::shared_ptr<const schedule::job_plan>> jobs();
    void end_process();
    void note_contact(contact& seen, bool holds);
    bool is_frozen() const { return home_.time.now() < frozen_until_; }

    // Constant after construction
    world& home_;
    const std::size_t index_;
    // The machine
    nanos error_{};  // of the wall clock, at error_since_
    nanos error_since_{};
    nanos stepped_at_{};
    double drift_ = 0;
    nanos frozen_until_{};
    nanos cut_until_[2]{};
    nanos deaf_until_[2]{};
    contact reaching_[2]{};
    contact hearing_[2]{};
    // The process
    std::uint64_t life_ = 0;
    std::unique_ptr<process> process_;
    bool ready_ = false;
    bool draining_ = false;
    std::unordered_map<std::size_t, std::size_t> editions_;  // of each job that it has
    std::vector<std::pair<side, std::weak_ptr<std::function<void()>>>> connected_;
};

}  // namespace pawl::simulation::schedules
