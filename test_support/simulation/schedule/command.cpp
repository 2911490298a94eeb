#include "test_support/simulation/schedule/command.hpp"

#include <utility>

namespace pawl::simulation::schedules {
namespace {

constexpr nanos stops_within = std::chrono::seconds{3};
// From the look at an occurrence's row to its beginning: the answers to that look, to the claim and
// to the beginning in the journal, each of which may be waited for in vain.
constexpr nanos beginning_asks_for = std::chrono::seconds{7};

}  // namespace

command::command(node& home, std::size_t job)
    : home_{home}, world_{home.home()}, life_{home.life()}, job_{job}, over_{home.executor()} {}

command::~command() { end(state::killed); }

void command::end(state how) {
    if (state_ != state::running) {
        if (state_ == state::waiting) state_ = how;
        return;
    }
    state_ = how;
    if (occurrence_)
        world_.judge.on_end(key_, *occurrence_, how == state::completed);
    else
        world_.judge.on_manual_end(key_);
    home_.tell(life_, [weak = weak_from_this()] {
        if (const auto who = weak.lock()) who->over_.cancel();
    });
}

void command::end_at(nanos when, state how) {
    world_.time.at(when, [weak = weak_from_this(), how, when] {
        const auto who = weak.lock();
        // Renewed since.
        if (!who || (how == state::killed && !who->told_ && who->kill_at_ > when)) return;
        who->end(how);
    });
}

boost::asio::awaitable<schedule::work_result> command::run(schedule::run_order order) {
    const auto self = shared_from_this();
    schedule::work_result result;
    if (state_ != state::waiting || world_.time.now() >= kill_at_) {
        result.started = false;
        result.reason = "told to stop before it began";
        co_return result;
    }
    const auto& plan = world_.plan.jobs[job_];
    key_ = order.key;
    occurrence_ = order.occurrence;
    state_ = state::running;
    if (occurrence_) world_.count_begin(*occurrence_);
    if (occurrence_)
        world_.judge.on_begin({key_, *occurrence_, job_, home_.edition_number(job_), home_.index(),
                               order.token, home_.has_reached(side::journal, beginning_asks_for),
                               home_.has_heard(side::journal, beginning_asks_for)});
    else
        world_.judge.on_manual_begin(key_, order.run_id, order.token);
    end_at(world_.time.now() + world_.random.between(plan.run_least, plan.run_most),
           state::completed);
    while (state_ == state::running) {
        auto waiting = over_.wait_until(instant::max());
        co_await std::move(waiting);
    }
    result.succeeded = state_ == state::completed;
    if (result.succeeded) result.exit_status = 0;
    result.reason = result.succeeded ? "exit 0" : "killed by SIGKILL";
    co_return result;
}

void command::extend(instant /*stop_at*/, instant kill_at) {
    kill_at_ = home_.world_time(kill_at);
    if (world_.plan.bug == plant::unguarded) return;
    end_at(kill_at_, state::killed);
}

void command::stop(schedule::stop_cause /*why*/) {
    if (std::exchange(told_, true)) return;
    if (state_ == state::waiting) return end(state::killed);
    end_at(world_.time.now() + world_.random.between(nanos{0}, stops_within), state::killed);
}

}  // namespace pawl::simulation::schedules
