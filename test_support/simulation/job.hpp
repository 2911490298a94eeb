// What a user of the library does about one key, over and over: claim it, work under it,
// and end the lease.
#pragma once

#include "test_support/simulation/node.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <stop_token>

namespace pawl::simulation {

// In one process; on its loop only.
class job : public std::enable_shared_from_this<job> {
public:
    job(node& home, const key_plan& plan) : home_{home}, all_{home.home()}, plan_{plan} {}

    // For as long as the process lives.
    static boost::asio::awaitable<void> run(std::shared_ptr<job> self);

    // The product has not answered although it should have long ago.
    bool is_stuck() const { return all_.time.now() > answer_by_ + std::chrono::seconds{20}; }
    const std::string& key() const { return plan_.key; }

private:
    boost::asio::awaitable<void> attempt();
    boost::asio::awaitable<void> work_under(lease& held,
                                            std::optional<pawl::occurrence> occurrence);
    boost::asio::awaitable<void> end(lease held);
    std::optional<pawl::occurrence> choose_occurrence();
    wait_policy draw_wait_policy();
    void call_off_later(std::stop_source stop);
    void write_soon(fence_token token);
    // Until then the product has answered.
    void expect_within(nanos longest) { answer_by_ = all_.time.now() + longest; }

    // Constant after construction
    node& home_;
    world& all_;
    const key_plan& plan_;
    // State
    nanos answer_by_ = std::chrono::hours{1000};
};

}  // namespace pawl::simulation
