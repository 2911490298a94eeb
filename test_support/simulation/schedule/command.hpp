// A command of a job and its guard: a process beside the node's, which goes on while that is
// frozen, ends by force when its time is up, and dies with it.
#pragma once

#include "schedule/job/body.hpp"
#include "test_support/simulation/schedule/node.hpp"

#include <memory>
#include <string>

namespace pawl::simulation::schedules {

class command final : public schedule::body, public std::enable_shared_from_this<command> {
public:
    command(node& home, std::size_t job);
    ~command() override;

    boost::asio::awaitable<schedule::work_result> run(schedule::run_order order) override;
    void extend(instant stop_at, instant kill_at) override;
    void stop(schedule::stop_cause why) override;
    void force_stop() override { end(state::killed); }

private:
    enum class state { waiting, running, completed, killed };

    void end(state how);
    void end_at(nanos when, state how);

    // Constant after construction
    node& home_;
    world& world_;
    const std::uint64_t life_;
    const std::size_t job_;
    // State
    state state_ = state::waiting;
    bool told_ = false;  // to stop
    nanos kill_at_ = nanos::max();
    std::string key_;
    std::optional<occurrence> occurrence_;
    net::timer over_;
};

}  // namespace pawl::simulation::schedules
