#include "agent/command_body.hpp"

#include "base/ensure.hpp"
#include "base/reserved_names.hpp"
#include "base/text.hpp"
#include "schedule/job/log_text.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/system/system_error.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace pawl::agent {
namespace {

using boost::asio::awaitable;
using schedule::run_order;
using schedule::stop_cause;
using schedule::work_result;

work_result failed(std::string reason) {
    work_result how;
    how.reason = std::move(reason);
    return how;
}

std::string_view words_for(stop_cause why) {
    switch (why) {
        case stop_cause::cancelled:
            return "cancelled";
        case stop_cause::timed_out:
            return "timed out";
        case stop_cause::lost:
            return "its lease was lost";
        case stop_cause::shutdown:
            return "the agent was shutting down";
    }
    base::ensure(false);
    return {};
}

// "exit 3", "killed by SIGSEGV".
std::string words_for(const exec::exit_status& status) {
    if (status.signal == 0) return "exit " + std::to_string(status.code);
    const char* name = sigabbrev_np(status.signal);
    if (name == nullptr) return "killed by signal " + std::to_string(status.signal);
    return std::string{"killed by SIG"} + name;
}

void add_limit(std::vector<exec::resource_limit>& all, int resource,
               std::optional<std::int64_t> value) {
    if (!value) return;
    // What is written as "unlimited" comes as the largest number there is.
    const bool unlimited = *value == std::numeric_limits<std::int64_t>::max();
    const std::uint64_t bound = unlimited ? RLIM_INFINITY : static_cast<std::uint64_t>(*value);
    all.push_back({resource, bound, bound});
}

std::vector<exec::resource_limit> limits_of(const config::limit_settings& wanted) {
    std::vector<exec::resource_limit> all;
    add_limit(all, RLIMIT_NOFILE, wanted.open_files);
    add_limit(all, RLIMIT_NPROC, wanted.processes);
    add_limit(all, RLIMIT_AS, wanted.memory);
    add_limit(all, RLIMIT_FSIZE, wanted.file_size);
    add_limit(all, RLIMIT_CORE, wanted.core_size);
    if (wanted.cpu_time) {
        const auto seconds = std::chrono::ceil<std::chrono::seconds>(*wanted.cpu_time).count();
        const auto bound = static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 1));
        // SIGXCPU says what happened; SIGKILL, a second later, ends a command that ignores it.
        all.push_back({RLIMIT_CPU, bound, bound + 1});
    }
    return all;
}

exec::command command_for(const config::job_settings& job, const run_order& order) {
    exec::command wanted{job.command};
    wanted.arguments.insert(wanted.arguments.end(), order.arguments.begin(), order.arguments.end());
    wanted.working_directory = job.working_directory;
    wanted.resource_limits = limits_of(job.limits);
    if (job.umask) wanted.file_mask = static_cast<mode_t>(*job.umask);
    if (job.nice) wanted.nice = static_cast<int>(*job.nice);
    return wanted;
}

work_result cannot_start(const exec::command& wanted, const exec::spawn_fault& fault) {
    auto how = failed(fault.describe(wanted));
    how.started = !fault.lacked_resources();
    return how;
}

work_result cannot_start(const exec::command& wanted, int error) {
    return cannot_start(wanted, exec::spawn_fault{exec::stage::guard, error});
}

async<fence_result> reject_fence(std::string resource) {
    co_return failure{errc::denied, "'" + base::printable(resource) +
                                        "' is reserved: of the names under job/ and pawl/ a run "
                                        "has its own job's; use another name"};
}

// A run checks no fence by which another job, or an agent, would be shut out.
decltype(run_verbs::check_fence) within_rights(decltype(run_verbs::check_fence) check,
                                               std::string own) {
    if (!check) return check;
    return [check = std::move(check), own = std::move(own)](std::string resource, fence_token token,
                                                            fence_rule rule) {
        const bool is_own = resource == own || resource.starts_with(own + '/');
        return base::is_reserved_name(resource) && !is_own
                   ? reject_fence(std::move(resource))
                   : check(std::move(resource), token, rule);
    };
}

}  // namespace

awaitable<resolved_command> resolve(std::shared_ptr<const command_context> around,
                                    std::shared_ptr<const config::job_settings> job,
                                    run_order order, net::event& called_off) {
    exec::command wanted = command_for(*job, order);
    exec::account who;
    ground from = job->clean_environment ? ground::clean : ground::inherited;
    const bool named = !job->user.empty() || !job->group.empty();
    if (named || job->clean_environment) {
        auto asking = around->users.find(job->user, job->group, called_off);
        user_directory::answer found = co_await std::move(asking);
        if (found.has_error())
            co_return exec::account_fault{
                "cannot run '" + base::printable(job->command.front()) + "': " + found.error().what,
                found.error().answered};
        who = std::move(*found);
        if (named) wanted.user = who.who;
        // What the agent's variables say of a home or a session is true for the agent's user.
        if (who.who.user != geteuid()) from = ground::clean;
    }
    wanted.environment = environment_of(*job, order, who, from, around->stores);
    auto fault = unspeakable(wanted);
    if (!fault.empty()) co_return exec::account_fault{std::move(fault)};
    co_return wanted;
}

command_body::command_body(std::shared_ptr<const command_context> around,
                           std::shared_ptr<const config::job_settings> job,
                           schedule::output_sink sink)
    : around_{std::move(around)},
      job_{std::move(job)},
      output_{around_->loop.get_executor(), std::move(sink)} {
    limits_.grace = job_->grace;
}

awaitable<work_result> command_body::run(run_order order) {
    if (stopped_) co_return never_began();
    // The caller may have gone by an older configuration, or by none.
    if (auto fault = base::argument_fault(job_->arguments, job_->name, order.arguments))
        co_return failed(std::move(*fault));
    run_verbs verbs{order.save_checkpoint, within_rights(around_->check_fence, job_->key())};
    who_ = {order.run_id, order.token};
    key_ = order.key;
    auto finding_out = resolve(around_, job_, std::move(order), called_off_);
    resolved_command wanted = co_await std::move(finding_out);
    if (stopped_) co_return never_began();
    if (wanted.has_error()) {
        auto how = failed(wanted.error().what);
        how.started = wanted.error().answered;
        co_return how;
    }
    open_socket(std::move(verbs), *wanted);
    auto running = run_command(std::move(*wanted));
    work_result how = co_await std::move(running);
    co_return how;
}

void command_body::open_socket(run_verbs verbs, exec::command& wanted) {
    std::optional<uid_t> user;
    if (wanted.user) user = wanted.user->user;
    auto opened = run_socket::open(around_->loop.get_executor(), around_->guards.folder(), who_,
                                   std::move(verbs), user);
    if (opened)
        socket_ = std::move(*opened);
    else if (around_->log)
        around_->log(log_level::warn,
                     "run without its socket " + schedule::job_field(job_->name) +
                         " run=" + who_.id +
                         ": it cannot save checkpoints or check fences: " + opened.error());
    set_variable(wanted.environment, "PAWL_RUN_SOCKET", socket_ ? socket_->path() : "");
}

awaitable<work_result> command_body::run_command(exec::command wanted) {
    // What a fault is described by; the environment travels on alone.
    exec::command shown{wanted.arguments};
    shown.working_directory = wanted.working_directory;
    exec::descriptor nowhere{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    if (!nowhere.is_open()) co_return cannot_start(shown, errno);
    exec::descriptor written = output_.open();
    if (!written.is_open()) co_return cannot_start(shown, errno);
    // So that another user can open /dev/stdout; a command that does not gets by without.
    if (wanted.user) std::ignore = fchown(written.get(), wanted.user->user, wanted.user->group);
    wanted.streams = {nowhere.get(), written.get(), written.get()};
    if (const int error = make_child(); error != 0) co_return cannot_start(shown, error);
    auto spawning = child_->spawn(std::move(wanted), limits_);
    const std::optional<exec::spawn_fault> fault = co_await std::move(spawning);
    nowhere.close();
    written.close();
    if (fault) {
        if (!around_->guards.is_alive() && around_->on_launcher_lost) around_->on_launcher_lost();
        // What may have run is not given back to another node, which would run it again.
        if (stopped_ && !fault->may_have_run()) co_return never_began();
        auto how = cannot_start(shown, *fault);
        if (fault->came_too_late()) {
            // Its deadline is the end of its lease, and the run has words for that.
            how.reason.clear();
            how.started = false;
        }
        if (fault->was_cut_short())
            how.ending = runs::work_ending::deadline;
        else if (fault->may_have_run())
            how.ending = runs::work_ending::guard_lost;
        co_return how;
    }
    // What came while it was being started.
    child_->extend(limits_.stop_at, limits_.kill_at);
    auto waiting = child_->wait();
    const exec::exit_status status = co_await std::move(waiting);
    auto finishing = output_.finish();
    co_await std::move(finishing);
    socket_.reset();
    co_return ended(status);
}

// What errno says when there is no more of something that it takes.
int command_body::make_child() {
    try {
        child_.emplace(around_->loop.get_executor(), around_->guards);
        return 0;
    } catch (const boost::system::system_error& error) {
        return error.code().value();
    }
}

void command_body::extend(instant stop_at, instant kill_at) {
    limits_.stop_at = stop_at;
    limits_.kill_at = kill_at;
    if (child_) child_->extend(stop_at, kill_at);
}

void command_body::stop(stop_cause why) {
    if (!stopped_) stopped_ = why;
    called_off_.set();
    if (child_) child_->stop(job_->grace);
}

// Also when it was told to stop before, which left it more time. The guard keeps to the earliest.
void command_body::force_stop() {
    if (!stopped_) stopped_ = stop_cause::lost;
    called_off_.set();
    if (!child_) return;
    child_->stop(grace_after_loss_max());
    if (around_->inspect)
        boost::asio::co_spawn(around_->loop.get_executor(), cut_grace(shared_from_this()),
                              boost::asio::detached);
}

awaitable<void> command_body::cut_grace(std::shared_ptr<command_body> self) {
    auto& me = *self;
    auto asking =
        grace_after_loss(me.around_->inspect, me.key_, me.who_.token, me.grace_after_loss_max());
    const millis grace = co_await std::move(asking);
    me.child_->stop(grace);
}

millis command_body::grace_after_loss_max() const {
    return std::min(job_->grace, around_->lock_delay);
}

work_result command_body::never_began() const {
    auto how = failed("stopped before it began (" + std::string{words_for(*stopped_)} + ')');
    how.started = false;
    return how;
}

work_result command_body::ended(const exec::exit_status& status) const {
    work_result how;
    how.exit_status = status.as_shell();
    const std::string end = words_for(status);
    switch (status.cause) {
        case exec::ending::by_itself:
            how.succeeded = status.as_shell() == 0;
            if (!how.succeeded) how.reason = end;
            break;
        case exec::ending::asked: {
            const auto why = stopped_.value_or(stop_cause::shutdown);
            how.reason = "stopped (" + std::string{words_for(why)} + "): " + end;
            break;
        }
        case exec::ending::deadline:
            how.ending = runs::work_ending::deadline;
            how.reason = "stopped (its lease was about to end): " + end;
            break;
        case exec::ending::guard_lost:
            how.ending = runs::work_ending::guard_lost;
            how.reason = "its guard was killed, and the command with it";
            break;
    }
    return how;
}

schedule::body_maker command_bodies(std::shared_ptr<const command_context> around,
                                    std::shared_ptr<const config::job_settings> job) {
    return [around = std::move(around),
            job = std::move(job)](schedule::output_sink sink) -> std::shared_ptr<schedule::body> {
        return std::make_shared<command_body>(around, job, std::move(sink));
    };
}

}  // namespace pawl::agent
