// A command as the body of a run.
//
// What keeps the promise to the lease is the guard (exec/child.hpp), which outlives this process;
// this only finds out what to run, passes its output on, and says in one line how it ended.
#pragma once

#include "agent/environment.hpp"
#include "agent/lost_grace.hpp"
#include "agent/output_collector.hpp"
#include "agent/run_socket.hpp"
#include "agent/user_directory.hpp"
#include "config/settings.hpp"
#include "exec/child.hpp"
#include "exec/launcher.hpp"
#include "net/loop.hpp"
#include "schedule/job/body.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/system/result.hpp>

#include <memory>
#include <optional>
#include <string>

namespace pawl::agent {

// What the commands of one agent have in common. The loop and the launcher outlive it.
struct command_context {
    command_context(net::loop& where, const exec::launcher& guards, addresses stores)
        : loop{where}, guards{guards}, users{where}, stores{std::move(stores)} {}

    net::loop& loop;
    const exec::launcher& guards;
    user_directory users;
    addresses stores;
    // Of the store; empty: what it says of a key that was lost is not known.
    lease_reader inspect{};
    // By which a run checks fences; empty: it cannot.
    decltype(run_verbs::check_fence) check_fence{};
    // Of what a run has to do without; empty: none is told.
    std::function<void(log_level, std::string_view)> log{};
    // No command starts here any more: the process that starts guards has died.
    std::function<void()> on_launcher_lost{};
    // A job whose lease was lost has this long at most, whatever its grace.
    millis lock_delay = forced_release_grace_max;
};

// The command with everything found out that can be without running it; else why it cannot run, in
// one line without a secret. For the run, and for the dry run that only shows it. `called_off` ends
// the wait for the directory of users, and outlives the call.
using resolved_command = boost::system::result<exec::command, exec::account_fault>;
boost::asio::awaitable<resolved_command> resolve(std::shared_ptr<const command_context> around,
                                                 std::shared_ptr<const config::job_settings> job,
                                                 schedule::run_order order, net::event& called_off);

class command_body final : public schedule::body,
                           public std::enable_shared_from_this<command_body> {
public:
    command_body(std::shared_ptr<const command_context> around,
                 std::shared_ptr<const config::job_settings> job, schedule::output_sink sink);

    boost::asio::awaitable<schedule::work_result> run(schedule::run_order order) override;
    void extend(instant stop_at, instant kill_at) override;
    void stop(schedule::stop_cause why) override;
    void force_stop() override;

private:
    void open_socket(run_verbs verbs, exec::command& wanted);
    boost::asio::awaitable<schedule::work_result> run_command(exec::command wanted);
    // Cuts the grace of a command whose lease was lost to what the store says.
    static boost::asio::awaitable<void> cut_grace(std::shared_ptr<command_body> self);
    int make_child();
    schedule::work_result ended(const exec::exit_status& status) const;
    schedule::work_result never_began() const;
    millis grace_after_loss_max() const;

    // Constant after construction
    std::shared_ptr<const command_context> around_;
    std::shared_ptr<const config::job_settings> job_;

    output_collector output_;
    run_ref who_;      // from when it runs
    std::string key_;  // of its lease
    exec::limits limits_{};
    std::optional<schedule::stop_cause> stopped_;  // the first cause
    net::event called_off_;                        // set when it is stopped
    std::unique_ptr<run_socket> socket_;  // null before it runs, and where none can be made
    // From when it is given to its guard. Not before: each has descriptors, which may run out.
    std::optional<exec::child> child_;
};

// For the dispatcher: a body for each run of this job.
schedule::body_maker command_bodies(std::shared_ptr<const command_context> around,
                                    std::shared_ptr<const config::job_settings> job);

}  // namespace pawl::agent
