#include "api/agent_view.hpp"

#include "net/attachment.hpp"
#include "net/event.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <utility>

namespace pawl::api {
namespace {

using boost::asio::awaitable;

class agent_view final : public node_view {
public:
    agent_view(std::shared_ptr<agent::agent> who, net::loop& loop)
        : agent_{std::move(who)}, loop_{loop} {}

    awaitable<std::optional<node_state>> look(millis timeout) override {
        // Who asks may be gone, and its loop as well, when the agent's comes to it.
        const auto here = net::attach(co_await boost::asio::this_coro::executor);
        const auto answer = std::make_shared<waiting>();
        boost::asio::post(loop_.get_executor(), [answer, here, who = agent_] {
            auto seen = std::make_shared<agent::condition>(who->look());
            here->post([answer, seen] {
                answer->seen = seen;
                answer->arrived.set();
            });
        });
        auto arriving = answer->arrived.wait_for(timeout);
        co_await std::move(arriving);
        if (!answer->seen) co_return std::nullopt;
        node_state state;
        state.ready = answer->seen->ready;
        state.knows_pauses = answer->seen->knows_pauses;
        state.draining = answer->seen->draining;
        state.running = answer->seen->running;
        state.running_max = answer->seen->running_max;
        state.jobs = answer->seen->jobs;
        state.next_occurrences = std::move(answer->seen->next_occurrences);
        co_return state;
    }

private:
    // Kept alive by whichever side is later.
    struct waiting {
        net::event arrived;
        std::shared_ptr<agent::condition> seen;
    };

    std::shared_ptr<agent::agent> agent_;
    net::loop& loop_;
};

}  // namespace

std::string unready(const node_state& seen) {
    if (seen.draining) return "this node is draining and starts no new run";
    if (!seen.ready) return "this node is starting and has not yet read what its jobs have run";
    if (!seen.knows_pauses)
        return "this node has not read the control state since it started, so no scheduled run "
               "starts until its journal reports which jobs are paused";
    return {};
}

std::shared_ptr<node_view> view_of(std::shared_ptr<agent::agent> who, net::loop& loop) {
    return std::make_shared<agent_view>(std::move(who), loop);
}

}  // namespace pawl::api
