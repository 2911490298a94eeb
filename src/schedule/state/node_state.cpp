#include "schedule/state/node_state.hpp"

#include "net/unattended.hpp"
#include "schedule/job/log_text.hpp"

#include <boost/asio/co_spawn.hpp>

#include <utility>

namespace pawl::schedule {
namespace {

using boost::asio::awaitable;

awaitable<void> keep_alive([[maybe_unused]] std::shared_ptr<const void> home,
                           awaitable<void> what) {
    // A local, so that what is left of it when the loop goes is gone before its home may be.
    auto running = std::move(what);
    co_await std::move(running);
}

awaitable<void> prune_runs(node_state& node, std::string job, std::size_t kept) {
    auto pruning = runs::prune(node.records, job, kept);
    const auto pruned = co_await std::move(pruning);
    if (pruned.has_error() && !node.unpruned)
        node.log(log_level::debug,
                 "old runs not removed " + job_field(job) + ": " + pruned.error().detail);
    node.unpruned = pruned.has_error();
    node.pruning.erase(job);
}

}  // namespace

node_state::node_state(node_parts made_of)
    : loop{*made_of.loop},
      engine{std::move(made_of.engine)},
      records{std::move(made_of.records)},
      me{std::move(made_of.me)},
      recording_timeout{made_of.recording_timeout},
      observer{std::move(made_of.observer)},
      clock{records ? node_clock::compared_with::journal : node_clock::compared_with::store},
      time_changed{loop.get_executor()},
      work{loop.get_executor()},
      random{loop.clocks().seed()},
      ids{loop.ids()} {}

void node_state::spawn(awaitable<void> what) {
    // One that ended by an exception would leave its key state at work for ever, and no node would
    // know.
    boost::asio::co_spawn(loop.get_executor(), keep_alive(home.lock(), std::move(what)),
                          net::unattended{});
}

void node_state::prune(std::string job, std::size_t kept) {
    // A journal may take long to find the oldest of many, and the next rows bring another chance.
    if (!pruning.insert(job).second) return;
    spawn(prune_runs(*this, std::move(job), kept));
}

}  // namespace pawl::schedule
