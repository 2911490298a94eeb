// The command of `pawl exec` while it runs, and until when it may.
#pragma once

#include "exec/child.hpp"
#include "exec/launcher.hpp"
#include "net/loop.hpp"
#include "runs/run_result.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace pawl::cli {

// How a command ended.
struct ended {
    int status = 0;  // as a shell would say it
    exec::ending cause = exec::ending::by_itself;
    std::string fault;       // why it could not begin
    bool started = true;     // nothing of it has run if this is false
    bool timed_out = false;  // it was its own time that was up, and not the lease's
    bool cancelled = false;  // it was asked to end by a cancel, and not for its lease

    // Stopped because the lease was ending, whether or not it ended in the event.
    bool by_lease() const {
        return !timed_out && !cancelled &&
               (cause == exec::ending::deadline || cause == exec::ending::asked);
    }
    // What told it to stop; nothing: it was not told.
    std::optional<runs::stop_cause> stopped_by() const;
    runs::work_result as_work() const;
};

// Whether a command that was stopped at its deadline was stopped by its timeout, or by its lease.
// The lease may be renewed after that, so what its end is by now says nothing.
class first_deadline {
public:
    void set_timeout(instant at) { timeout_at_ = at; }
    // The guard has been told that it stops the command for its lease at `stop_at`.
    void tell_guard(instant stop_at, instant now);
    // Of one that was stopped, and has ended.
    bool is_timeout(instant now) const;

    instant timeout_at() const noexcept { return timeout_at_; }

private:
    instant timeout_at_ = instant::max();
    instant lease_stops_at_ = instant::max();
    bool stopped_by_lease_ = false;
};

// On the loop only.
class exec_run {
public:
    // The time of `timeout` counts from when the command begins; nothing: it has no end.
    exec_run(net::loop& on, const exec::launcher& from, millis grace,
             std::optional<millis> timeout);

    // For a command that begins in a moment, unless the key is held.
    void prepare() { child_.prepare(); }

    // Ends when the command and all that it left behind are dead. REQUIRES: called once.
    static boost::asio::awaitable<ended> run(std::shared_ptr<exec_run> self, exec::command wanted);

    // What pawl is told is passed on to the command, or ends the wait for the key.
    void on_signal(int signal);
    // The end of the lease has moved.
    void on_deadline(instant stop_at, instant valid_until, millis ttl);
    // For its lease, which is lost.
    void stop(millis grace);
    bool is_running() const noexcept { return spawned_; }
    // Once, and only a command that runs.
    void cancel();

    const std::optional<int>& early_signal() const noexcept { return early_signal_; }
    std::stop_token gives_up() const { return give_up_.get_token(); }

private:
    exec::limits bounds() const;
    void tell_guard();

    net::loop& loop_;
    exec::child child_;
    const millis grace_;
    const std::optional<millis> timeout_;
    first_deadline first_;
    exec::limits of_lease_;
    bool starting_ = false;
    bool spawned_ = false;
    std::optional<runs::stop_cause> asked_for_{};  // why it was asked to end at first
    std::optional<int> early_signal_;              // came before there was a command
    std::stop_source give_up_;                     // ends a wait for the key
};

}  // namespace pawl::cli
