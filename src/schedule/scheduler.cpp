#include <pawl/scheduler.hpp>

#include "net/fork_check.hpp"
#include "net/remote_operation.hpp"
#include "runtime/await_there.hpp"
#include "runtime/bodies.hpp"
#include "runtime/core.hpp"
#include "schedule/scheduling.hpp"

#include <pawl/locks.hpp>

#include <stdexcept>
#include <utility>

namespace pawl {
namespace {

boost::asio::awaitable<bool> run_until(std::shared_ptr<schedule::scheduling> what,
                                       std::stop_token stop, std::stop_token gone) {
    const runtime::combined_stop told{std::move(stop), std::move(gone)};
    auto running = schedule::scheduling::run(std::move(what), told.token());
    co_return co_await std::move(running);
}

boost::asio::awaitable<void> run_there(std::shared_ptr<schedule::scheduling> what,
                                       std::stop_token stop) {
    auto way = runtime::reach(what->home());
    std::stop_source gone;
    auto running = run_until(std::move(what), std::move(stop), gone.get_token());
    auto awaiting =
        runtime::await_there(std::move(way), std::move(running), gone, net::leave::when_done);
    co_await std::move(awaiting);
}

// In the child of a fork no thread may be there that lets a lock go, and the loop is the parent's.
schedule::scheduling& here(schedule::scheduling& inner) {
    if (inner.home().is_forked_child()) throw std::logic_error{net::opened_before_fork};
    return inner;
}

}  // namespace

scheduler::scheduler(locks& where, scheduler_options options)
    : inner_{schedule::scheduling::make(runtime::opened(where.core_.get()), std::move(options))} {}
scheduler::~scheduler() {
    if (inner_->home().is_forked_child()) net::keep_for_ever(std::move(inner_));
}

void scheduler::add(const job& what, const schedule_options& when) {
    here(*inner_).add(what, when);
}
bool scheduler::remove(std::string_view name) { return here(*inner_).remove(name); }

void scheduler::run(std::stop_token stop) {
    const runtime::link::visit on{here(*inner_).home()};
    if (!on) throw store_error{net::locks_closed()};
    on.loop().wait_for(schedule::scheduling::run(inner_, std::move(stop)));
}

boost::asio::awaitable<void> scheduler::async_run(std::stop_token stop) {
    return run_there(inner_, std::move(stop));
}

std::optional<std::chrono::system_clock::time_point> scheduler::next(std::string_view name) const {
    return here(*inner_).next(name);
}

}  // namespace pawl
