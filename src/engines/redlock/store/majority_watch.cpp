#include "engines/redlock/store/majority_watch.hpp"

#include "engines/redis/client/subscriber.hpp"
#include "engines/redlock/store/lock_text.hpp"
#include "engines/redlock/store/majority_claim.hpp"
#include "engines/redlock/store/vote_scripts.hpp"
#include "net/event.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <vector>

namespace pawl::redlock {
namespace {

// What the watches of one wait share.
struct majority_watch {
    enum class state { opening, listening, changed, failed };

    majority_watch(std::shared_ptr<quorum> nodes, std::string what, fence_token token)
        : among{std::move(nodes)},
          key{std::move(what)},
          seen{token},
          states(among->size(), state::opening),
          ended(among->size(), false),
          stop(among->size()) {}

    std::size_t count(state which) const {
        return static_cast<std::size_t>(std::count(states.begin(), states.end(), which));
    }
    void become(std::size_t which, state next) {
        states[which] = next;
        const auto majority = among->majority();
        const auto others = among->size() - majority;
        const bool decided = count(state::changed) > others || count(state::failed) > others;
        const bool too_few = count(state::opening) == 0 && count(state::listening) < majority;
        if (decided || too_few) over.set();
    }

    const std::shared_ptr<quorum> among;
    const std::string key;
    const fence_token seen;
    std::vector<state> states;
    std::vector<failure> failures;
    std::vector<bool> ended;
    std::vector<boost::asio::cancellation_signal> stop;
    net::event over;
};

// Whether the node still holds the key under the token, and will announce that it does not.
async<bool> mark(std::shared_ptr<majority_watch> on, std::size_t which) {
    const auto answers = std::make_shared<round>(1);
    redis::script_call call{vote_scripts::all().watch, 1};
    call.add(on->among->lock_prefix, on->key).add(digits_of(on->seen));
    on->among->at(which)->ask(std::move(call), on->among->deadline(), answers->taker(0));
    const round::judge enough = [](const round&) { return false; };
    co_await answers->until(enough);
    const auto& got = answers->answers().front();
    if (!got) co_return failure{errc::unreachable, "cancelled by the caller"};
    if (got->has_error()) co_return got->error();
    co_return (*got)->number == 1;
}

// Subscribes to one node, looks, and listens.
async<void> watch_node(std::shared_ptr<majority_watch> on, std::size_t which) {
    redis::watcher waiting{on->among->at(which)->subscriber(), on->among->channel_prefix + on->key};
    const auto confirmed = co_await waiting.confirmed();
    auto cancellation = co_await boost::asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != boost::asio::cancellation_type::none) co_return result<void>{};
    if (confirmed.has_error()) co_return confirmed.error();
    // What changed before the subscription was never announced to us.
    const auto unchanged = co_await mark(on, which);
    cancellation = co_await boost::asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != boost::asio::cancellation_type::none) co_return result<void>{};
    if (unchanged.has_error()) co_return unchanged.error();
    if (!*unchanged) co_return result<void>{};
    on->become(which, majority_watch::state::listening);
    co_return co_await waiting.notified();
}

void start(const std::shared_ptr<majority_watch>& on, std::size_t which) {
    auto finish = [on, which](const std::exception_ptr& raised, const result<void>& end) {
        on->ended[which] = true;
        if (!raised && end.has_error()) on->failures.push_back(end.error());
        const bool failed = raised || end.has_error();
        on->become(which, failed ? majority_watch::state::failed : majority_watch::state::changed);
    };
    boost::asio::co_spawn(
        on->among->executor(), watch_node(on, which),
        boost::asio::bind_cancellation_slot(on->stop[which].slot(), std::move(finish)));
}

}  // namespace

async<void> watch_over(std::shared_ptr<quorum> among, std::string key, fence_token seen) {
    const auto on = std::make_shared<majority_watch>(among, std::move(key), seen);
    for (std::size_t i = 0; i < among->size(); ++i) start(on, i);
    auto waiting = on->over.wait();
    const bool decided = co_await std::move(waiting);
    for (std::size_t i = 0; i < among->size(); ++i)
        if (!on->ended[i]) on->stop[i].emit(boost::asio::cancellation_type::terminal);
    if (!decided) co_return result<void>{};
    if (on->count(majority_watch::state::failed) + among->majority() > among->size())
        co_return explain_minority(on->failures, among->size() - on->failures.size(), among->size(),
                                   errc::unreachable);
    co_return result<void>{};
}

}  // namespace pawl::redlock
