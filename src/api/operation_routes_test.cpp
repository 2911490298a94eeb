// What is asked without a name: whether the agent is well, ready, and what it counts.
#include "api/api.hpp"
#include "test_support/faults/api_world.hpp"

#include <gtest/gtest.h>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <future>
#include <memory>
#include <utility>
#include <vector>

namespace pawl::api {
namespace {

// An agent that answers when everybody else on its loop has had a turn.
struct slow_node final : node_view {
    boost::asio::awaitable<std::optional<node_state>> look(millis) override {
        ++looks;
        for (int i = 0; i < 100; ++i) {
            auto turning = boost::asio::post(executor, boost::asio::use_awaitable);
            co_await std::move(turning);
        }
        node_state now;
        now.ready = true;
        co_return now;
    }

    boost::asio::any_io_executor executor{};
    int looks = 0;
};

std::shared_ptr<slow_node>& node_of_test() {
    static std::shared_ptr<slow_node> node;
    return node;
}

routes routes_of(shared_context around) {
    const auto with_node = std::make_shared<context>(*around);
    node_of_test() = std::make_shared<slow_node>();
    node_of_test()->executor = around->core->loop().get_executor();
    with_node->node = node_of_test();
    return operation_routes(with_node, access::open, {});
}

// Goal: who may not log in may not load the store either. Method: many ask while the first answer
// is still looked for.
TEST(Operation, ConcurrentCallersAreAnsweredByOneLook) {
    for (const auto* path : {"/healthz", "/readyz", "/metrics"}) {
        api_world world{routes_of};
        std::vector<std::future<http::response>> all;
        world.on_loop([&] {
            for (int i = 0; i < 50; ++i) all.push_back(world.begin({"GET", path}));
        });
        for (auto& one : all) EXPECT_EQ(one.get().status, 200u) << path;
        EXPECT_EQ(node_of_test()->looks, 1) << path;
        node_of_test().reset();
    }
}

}  // namespace
}  // namespace pawl::api
