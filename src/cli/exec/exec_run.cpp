#include "cli/exec/exec_run.hpp"

#include "agent/environment.hpp"
#include "cli/output/output.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace pawl::cli {
namespace {

// SIGKILL takes a moment to be carried out; the command is to be dead when trust ends.
constexpr std::chrono::nanoseconds kill_lead_max = millis{20};
constexpr int could_not_run = 126;  // as a shell says it
// A guard answers in a moment, and then the command gets the signal. One that does not by then has
// been waited for in vain.
constexpr millis answer_wait_after_signal{2'000};

}  // namespace

std::optional<runs::stop_cause> ended::stopped_by() const {
    if (timed_out) return runs::stop_cause::timed_out;
    if (cancelled) return runs::stop_cause::cancelled;
    if (by_lease()) return runs::stop_cause::lost;
    // Signals that come later are the command's own.
    if (!started && fault.empty()) return runs::stop_cause::shutdown;
    return std::nullopt;
}

runs::work_result ended::as_work() const {
    runs::work_result what;
    what.started = started;
    what.succeeded = status == 0 && cause == exec::ending::by_itself;
    what.exit_status = status;
    what.reason = fault;
    if (started && !what.succeeded && fault.empty()) what.reason = "exit " + std::to_string(status);
    if (cause == exec::ending::guard_lost) {
        what.ending = runs::work_ending::guard_lost;
        what.reason = "its guard was killed, and the command with it";
    }
    return what;
}

void first_deadline::tell_guard(instant stop_at, instant now) {
    if (lease_stops_at_ <= now && lease_stops_at_ <= timeout_at_) stopped_by_lease_ = true;
    lease_stops_at_ = stop_at;
}

bool first_deadline::is_timeout(instant now) const {
    return !stopped_by_lease_ && timeout_at_ < lease_stops_at_ && timeout_at_ <= now;
}

exec_run::exec_run(net::loop& on, const exec::launcher& from, millis grace,
                   std::optional<millis> timeout)
    : loop_{on}, child_{on.get_executor(), from}, grace_{grace}, timeout_{timeout} {
    of_lease_.grace = grace;
}

exec::limits exec_run::bounds() const {
    auto both = of_lease_;
    const instant timeout_at = first_.timeout_at();
    if (timeout_at == instant::max()) return both;
    both.stop_at = std::min(both.stop_at, timeout_at);
    both.kill_at = std::min(both.kill_at, timeout_at + grace_);
    return both;
}

void exec_run::tell_guard() {
    first_.tell_guard(of_lease_.stop_at, loop_.now());
    const auto until = bounds();
    child_.extend(until.stop_at, until.kill_at);
}

void exec_run::on_signal(int signal) {
    if (spawned_) return child_.signal(signal);
    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT) {
        early_signal_ = signal;
        give_up_.request_stop();
        child_.answer_within(answer_wait_after_signal);
    }
}

void exec_run::on_deadline(instant stop_at, instant valid_until, millis ttl) {
    of_lease_.stop_at = stop_at;
    of_lease_.kill_at = valid_until - std::min(kill_lead_max, std::chrono::nanoseconds{ttl} / 50);
    if (starting_ || spawned_) tell_guard();
}

void exec_run::cancel() {
    if (!spawned_) return;
    if (!asked_for_) {
        asked_for_ = runs::stop_cause::cancelled;
        log(log_level::warn, "run cancelled, stopping the command");
    }
    child_.stop(grace_);
}

void exec_run::stop(millis grace) {
    if (!asked_for_) asked_for_ = runs::stop_cause::lost;
    child_.stop(grace);
}

boost::asio::awaitable<ended> exec_run::run(std::shared_ptr<exec_run> self, exec::command wanted) {
    ended how;
    if (self->early_signal_) {
        how.status = 128 + *self->early_signal_;
        how.started = false;
        co_return how;
    }
    // A body of the library may have saved such a checkpoint: cut off it would be another one.
    if (auto impossible = agent::unspeakable(wanted); !impossible.empty()) {
        how.status = could_not_run;
        how.fault = std::move(impossible);
        co_return how;
    }
    const auto shown = exec::command{wanted.arguments};
    if (self->timeout_) self->first_.set_timeout(self->loop_.now() + *self->timeout_);
    self->first_.tell_guard(self->of_lease_.stop_at, self->loop_.now());
    // Renewals count while a guard is waited for as well.
    self->starting_ = true;
    const auto fault = co_await self->child_.spawn(std::move(wanted), self->bounds());
    self->starting_ = false;
    if (fault) {
        how.status = fault->as_shell();
        how.fault = fault->describe(shown);
        how.started = !fault->came_too_late() && !fault->lacked_resources();
        if (fault->came_too_late() || fault->was_cut_short()) {
            how.cause = exec::ending::deadline;
        } else if (self->early_signal_ && fault->where == exec::stage::guard) {
            // It ended the wait for a guard.
            how.status = 128 + *self->early_signal_;
            how.started = fault->may_have_run();
            if (!how.started) how.fault.clear();
        }
    } else {
        self->spawned_ = true;
        // What came while it was being started.
        self->tell_guard();
        if (const auto early = std::exchange(self->early_signal_, std::nullopt))
            self->child_.signal(*early);
        const auto status = co_await self->child_.wait();
        self->spawned_ = false;
        how.status = status.as_shell();
        how.cause = status.cause;
    }
    how.timed_out =
        how.cause == exec::ending::deadline && self->first_.is_timeout(self->loop_.now());
    how.cancelled =
        how.cause == exec::ending::asked && self->asked_for_ == runs::stop_cause::cancelled;
    co_return how;
}

}  // namespace pawl::cli
