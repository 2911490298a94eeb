// One machine with one process on it: a real engine on a loop whose time the world turns. It may be
// paused, when its loop does not run, and it may crash, at any await, and come back.
#pragma once

#include "net/event.hpp"
#include "net/loop.hpp"
#include "runtime/engine.hpp"
#include "test_support/simulation/world.hpp"

#include <pawl/lease.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace pawl::simulation {

class node final : public net::simulated_node {
public:
    // What each of its processes does; called when one starts.
    using program = std::function<void(node&)>;
    node(world& home, std::size_t index, program what);
    ~node();
    node(const node&) = delete;
    node& operator=(const node&) = delete;

    void start();
    // What may happen to it. A paused one does nothing; its clock, and its guard, go on.
    void pause(nanos duration);
    void resume();
    // Its objects are destroyed; it starts again after a while, unless that is zero.
    void crash(nanos down);
    // The same, when the process has nothing left to do.
    void end();
    // The server is gone, and what waits for it to say something hears of it.
    void lose_connections();

    // For the world
    void turn();
    nanos next_event() const;
    void fire();
    // The leases under which work goes on here and that are trusted in this instant: by their
    // holdings, or by the guard of a command whose process has crashed.
    template <class Visit>
    void for_each_trusted(const std::string& key, Visit visit) const {
        for (const auto& each : works_)
            if (each->under_.key() == key && trusts(*each)) visit(each->under_.token());
        for (const auto& each : orphans_)
            if (each.key == key && now() < each.deadline) visit(each.token);
    }

    std::size_t trusted_works() const;

    // For what runs in the process, and what stands between it and the store.
    world& home() const { return home_; }
    std::size_t index() const { return index_; }
    std::string name() const { return "node " + std::to_string(index_); }
    std::uint64_t life() const { return life_; }
    bool lives() const { return process_ != nullptr; }
    bool paused() const { return home_.time.now() < paused_until_; }
    bool paused_after(nanos when) const { return when < paused_until_; }
    const std::shared_ptr<runtime::engine>& engine() const { return process_->engine; }
    net::loop& loop() const { return process_->loop; }
    void spawn(boost::asio::awaitable<void> work);
    // On the loop of that life, unless it is over; a paused one does it when it goes on.
    void tell(std::uint64_t life, std::function<void()> what);
    // The same for the life that is now, later.
    void after(nanos delay, std::function<void()> what);
    void on_lost_connection(std::weak_ptr<std::function<void()>> who);

    // Work that goes on under a lease, in the frame of a coroutine of the process.
    class work {
    public:
        // `told` is requested when it should stop.
        work(node& where, lease& under, std::stop_token told);
        ~work();
        work(const work&) = delete;
        work& operator=(const work&) = delete;

        // Ends early when the lease is lost, and when it says that the work should stop.
        boost::asio::awaitable<bool> wait_until(instant when) { return changed_.wait_until(when); }

    private:
        friend class node;
        struct wake {
            net::event& changed;
            void operator()() { changed.notify_all(); }
        };

        node& where_;
        lease& under_;
        net::event changed_;
        std::stop_callback<wake> on_stop_;
        // What a guard outside the process was told last.
        std::shared_ptr<instant> deadline_;
        // What was seen of it last.
        instant valid_until_{};
        bool ended_ = false;
    };

    // Its clocks
    instant now() const override;
    time::wall_instant wall() const override;
    std::uint64_t random() override;

private:
    class listener;
    // Everything that dies with it. The loop goes last: it ends the coroutines.
    struct process {
        explicit process(node& home) : loop{home} {}
        ~process();
        net::loop loop;
        std::shared_ptr<runtime::engine> engine{};
        std::shared_ptr<runtime::link> link{};
    };
    // A command whose process has crashed: its guard lets it live to its deadline.
    struct orphan {
        std::string key;
        fence_token token;
        instant deadline;
    };

    nanos world_time(instant at) const;
    bool trusts(const work& what) const;
    // That trust which has ended stays so, and that what is newly trusted may be.
    void look_at_works();
    void on_lost(std::string_view key, fence_token token);

    // Constant after construction
    world& home_;
    const std::size_t index_;
    const program program_;
    const double rate_;  // of its clock against that of the store
    const nanos skew_;   // of its wall clock
    // The machine
    nanos paused_until_{0};
    nanos paused_since_{0};
    nanos asleep_{0};  // time that a clock which stops has not counted
    std::vector<orphan> orphans_;
    // The process
    std::uint64_t life_ = 0;
    std::vector<work*> works_;
    std::vector<std::function<void()>> backlog_;  // what came while it was paused
    std::vector<std::weak_ptr<std::function<void()>>> connected_;
    bool busy_ = false;  // its loop may have something to do
    std::unique_ptr<process> process_;
};

}  // namespace pawl::simulation
