#include <pawl/scheduler.hpp>

#include "runtime/hop.hpp"
#include "schedule/scheduling.hpp"

#include <pawl/locks.hpp>

#include <utility>

namespace pawl {

scheduler::scheduler(locks& where, scheduler_options options)
    : inner_{schedule::scheduling::make(*where.core_, std::move(options))} {}
scheduler::~scheduler() = default;

void scheduler::add(const job& what, const schedule_options& when) { inner_->add(what, when); }
bool scheduler::remove(std::string_view name) { return inner_->remove(name); }

void scheduler::run(std::stop_token stop) {
    inner_->claim_to_run();
    inner_->loop().wait_for(schedule::scheduling::run(inner_, std::move(stop)));
}

boost::asio::awaitable<void> scheduler::async_run(std::stop_token stop) {
    const auto inner = inner_;
    inner->claim_to_run();
    auto running = schedule::scheduling::run(inner, std::move(stop));
    co_await runtime::on_loop(inner->loop(), std::move(running));
}

std::optional<std::chrono::system_clock::time_point> scheduler::next(std::string_view name) const {
    return inner_->next(name);
}

}  // namespace pawl
