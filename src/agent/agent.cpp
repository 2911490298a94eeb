#include "agent/agent.hpp"

#include "agent/plans.hpp"
#include "base/counted.hpp"
#include "schedule/job/log_text.hpp"
#include "time/clocks.hpp"
#include "time/zone.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <csignal>
#include <utility>

namespace pawl::agent {
namespace {

using boost::asio::awaitable;

// What a stop takes besides: the ends of runs are recorded, and leases released.
constexpr millis stop_allowance{30'000};

std::string signal_name(int which) { return which == SIGINT ? "SIGINT" : "SIGTERM"; }

// Says what the dispatcher does, and passes it on.
class event_logger : public schedule::dispatch_observer {
public:
    event_logger(std::function<void(log_level, std::string_view)> log, std::function<void()> ready,
                 std::shared_ptr<schedule::dispatch_observer> other)
        : log_{std::move(log)}, ready_{std::move(ready)}, other_{std::move(other)} {}

    void on_ready() override {
        ready_();
        if (other_) other_->on_ready();
    }

    void log(log_level how, std::string_view line) override {
        if (log_) log_(how, line);
        if (other_) other_->log(how, line);
    }
    void on_run_started(const std::string& job, millis late, fence_token token) override {
        if (other_) other_->on_run_started(job, late, token);
    }
    void on_run_finished(const std::string& job, run_status status, millis took) override {
        if (other_) other_->on_run_finished(job, status, took);
    }
    void on_retry(const std::string& job) override {
        if (other_) other_->on_retry(job);
    }
    void on_run_judged(const std::string& job, run_status status) override {
        if (other_) other_->on_run_judged(job, status);
    }
    void on_skipped(const std::string& job, pawl::occurrence occurrence,
                    schedule::skip_reason why) override {
        log(log_level::info,
            "run skipped " + schedule::job_field(job) + ": " + std::string{text_of(why)});
        if (other_) other_->on_skipped(job, occurrence, why);
    }
    void on_fail_open(const std::string& job) override {
        if (other_) other_->on_fail_open(job);
    }
    void on_orphan_resumed(const std::string& job) override {
        if (other_) other_->on_orphan_resumed(job);
    }
    void on_stale_runs(std::size_t how_many) override {
        if (other_) other_->on_stale_runs(how_many);
    }
    void on_journal(bool answers) override {
        if (other_) other_->on_journal(answers);
    }

private:
    std::function<void(log_level, std::string_view)> log_;
    std::function<void()> ready_;
    std::shared_ptr<schedule::dispatch_observer> other_;
};

std::shared_ptr<const command_context> context_of(const agent_parts& parts,
                                                  std::function<void()> on_launcher_lost) {
    auto around =
        std::make_shared<command_context>(parts.core->loop(), *parts.guards, parts.stores);
    around->inspect = [store = parts.core->running()->shared_store()](std::string key) {
        return store->inspect(std::move(key));
    };
    around->check_fence = [store = parts.core->running()->shared_store()](
                              std::string resource, fence_token token, fence_rule rule) {
        return store->fence(std::move(resource), token, rule);
    };
    around->log = parts.log;
    around->on_launcher_lost = std::move(on_launcher_lost);
    return around;
}

}  // namespace

agent::agent(agent_parts made_of)
    : parts_{std::move(made_of)},
      loop_{parts_.core->loop()},
      around_{context_of(parts_,
                         [this, alive = std::weak_ptr{alive_}] {
                             if (alive.lock()) end_without_launcher();
                         })},
      notice_{std::make_shared<const systemd_notice>()},
      configured_{parts_.configured} {}

agent::~agent() = default;

void agent::log(log_level how, std::string_view line) const {
    if (parts_.log) parts_.log(how, line);
}

void agent::use(const config::settings& configured) {
    std::vector<std::shared_ptr<const schedule::job_plan>> plans;
    plans.reserve(configured.jobs.size());
    for (const auto& job : configured.jobs) {
        grace_max_ = std::max(grace_max_, job.grace);
        plans.push_back(plan_of(std::make_shared<const config::job_settings>(job),
                                configured_.agent.name, around_));
    }
    dispatcher_->replace_jobs(std::move(plans));
}

awaitable<bool> agent::run(std::shared_ptr<agent> self) {
    auto& me = *self;
    schedule::dispatcher::parts made_of;
    made_of.loop = &me.loop_;
    made_of.engine = me.parts_.core->running();
    made_of.records = me.parts_.records;
    made_of.me = {me.configured_.agent.name, made_of.engine->owner(), me.parts_.version,
                  me.parts_.address};
    made_of.runs_max = static_cast<std::size_t>(me.configured_.agent.max_concurrent_runs);
    const auto ready = [&me] {
        // One that was told to end while its store was away is none, whatever it finds on the way.
        if (me.stop_.stop_requested()) return;
        me.log(log_level::info, "node ready name=" + me.configured_.agent.name);
        me.notice_->ready(me.summary());
    };
    made_of.observer = std::make_shared<event_logger>(me.parts_.log, ready, me.parts_.observer);
    me.dispatcher_ = std::make_shared<schedule::dispatcher>(std::move(made_of));
    me.use(me.configured_);
    boost::asio::co_spawn(me.loop_.get_executor(), watch_signals(self), boost::asio::detached);
    boost::asio::co_spawn(me.loop_.get_executor(), watch_file(self), boost::asio::detached);
    boost::asio::co_spawn(me.loop_.get_executor(), systemd_notice::keep_alive(me.notice_, me.loop_),
                          boost::asio::detached);
    if (me.parts_.guards->folder().empty())
        me.log(log_level::warn,
               "no folder for sockets can be made in RUNTIME_DIRECTORY, TMPDIR or "
               "/tmp: commands cannot save checkpoints");
    me.log(log_level::info, "node starting name=" + me.configured_.agent.name +
                                " jobs=" + std::to_string(me.configured_.jobs.size()));
    auto running = schedule::dispatcher::run(me.dispatcher_, me.stop_.get_token(),
                                             me.configured_.agent.shutdown_grace);
    co_await std::move(running);
    // Last words that the store or the journal did not take are left to others.
    auto leaving = schedule::dispatcher::leave(me.dispatcher_);
    co_await std::move(leaving);
    me.ended_ = true;
    if (me.watch_) me.watch_->stop();
    me.log(log_level::info, "node stopped name=" + me.configured_.agent.name);
    co_return me.has_launcher_;
}

awaitable<void> agent::watch_signals(std::shared_ptr<agent> self) {
    auto& me = *self;
    boost::asio::signal_set signals{me.loop_.get_executor(), SIGTERM, SIGINT, SIGHUP};
    while (!me.ended_) {
        boost::system::error_code failed;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, failed);
        const int which = co_await signals.async_wait(token);
        if (failed || me.ended_) co_return;
        if (which == SIGHUP) {
            boost::asio::co_spawn(me.loop_.get_executor(), reload(self, "SIGHUP"),
                                  boost::asio::detached);
            continue;
        }
        if (me.stop_.stop_requested()) {
            me.log(log_level::warn, signal_name(which) + " again: stopping active runs now");
            me.dispatcher_->force_stop();
            continue;
        }
        me.drain(signal_name(which));
    }
}

void agent::drain(const std::string& why) {
    log(log_level::info,
        why + ": draining, " + base::counted(dispatcher_->running(), "active run"));
    notice_->stopping("draining active runs");
    // What runs may take its time, and then its grace.
    notice_->takes_longer(configured_.agent.shutdown_grace + grace_max_ + stop_allowance);
    stop_.request_stop();
}

// What it would win would not run, and would be missing where it can run.
void agent::end_without_launcher() {
    // One that is told to end does so in any case.
    if (stop_.stop_requested()) return;
    has_launcher_ = false;
    log(log_level::error,
        "the process that starts commands was killed, so this agent ends: start it again");
    drain("no command can start");
}

awaitable<void> agent::watch_file(std::shared_ptr<agent> self) {
    auto& me = *self;
    if (me.parts_.file.empty() || !me.parts_.read_again) co_return;
    me.watch_ = std::make_unique<file_watch>(me.loop_, me.parts_.file, me.parts_.file_seen);
    for (;;) {
        auto watching = me.watch_->changed();
        const bool changed = co_await std::move(watching);
        if (!changed || me.stop_.stop_requested()) co_return;
        auto reloading = reload(self, me.parts_.file + " has changed");
        co_await std::move(reloading);
    }
}

condition agent::look() const {
    condition seen;
    seen.running_max = static_cast<std::size_t>(configured_.agent.max_concurrent_runs);
    seen.jobs = configured_.jobs.size();
    seen.draining = stop_.stop_requested();
    if (!dispatcher_) return seen;
    seen.ready = dispatcher_->is_ready();
    seen.knows_pauses = dispatcher_->knows_pauses();
    seen.running = dispatcher_->running();
    for (const auto& job : configured_.jobs)
        if (const auto next = dispatcher_->next_occurrence(job.name))
            seen.next_occurrences.emplace_back(
                job.name, std::chrono::floor<millis>(*next).time_since_epoch().count());
    return seen;
}

std::string agent::summary() const { return std::to_string(configured_.jobs.size()) + " jobs"; }

awaitable<void> agent::reload(std::shared_ptr<agent> self, std::string why) {
    auto& me = *self;
    // An agent that stops begins nothing, and what its jobs are handed to may have gone.
    const auto is_stopping = [&me] { return me.ended_ || me.stop_.stop_requested(); };
    if (!me.parts_.read_again || is_stopping()) co_return;
    if (std::exchange(me.reloading_, true)) {
        me.reload_again_ = true;
        co_return;
    }
    // One that is starting says so when its jobs are scheduled.
    const bool was_ready = me.dispatcher_->is_ready();
    if (was_ready) me.notice_->reloading(time::monotonic_now());
    do {
        me.reload_again_ = false;
        // Who names a zone in the file has it as tzdata says by now.
        const auto read_again = [read = me.parts_.read_again] {
            time::zone::reload();
            return read();
        };
        auto reading = me.loop_.run_blocking(read_again);
        auto read = co_await std::move(reading);
        if (is_stopping()) break;
        auto faults = config::describe(read);
        if (read.usable()) {
            const auto& engine = *me.parts_.core->running();
            const auto bad =
                lease_faults(read.values, engine.store().traits(), engine.settings().safety);
            faults.insert(faults.end(), bad.begin(), bad.end());
            if (const auto emptied = config::emptied_fault(me.configured_, read))
                faults.push_back(*emptied);
            const auto listens = me.parts_.listens.value_or(me.configured_.agent.listen);
            if (const auto open = config::open_without_users_fault(listens, read))
                faults.push_back(*open);
        }
        if (!faults.empty()) {
            for (const auto& line : faults) me.log(log_level::error, line);
            me.log(log_level::error, why + ": reload rejected, keeping current configuration");
            continue;
        }
        for (const auto& line : config::describe_warnings(read)) me.log(log_level::warn, line);
        const auto changes = config::differences(me.configured_, read.values);
        for (const auto& line : changes.lines) me.log(log_level::info, line);
        for (const auto& line : changes.restarts) me.log(log_level::warn, line);
        // What takes a restart stays as it is, and is told again until then.
        read.values.agent = me.configured_.agent;
        read.values.store = me.configured_.store;
        read.values.journal = me.configured_.journal;
        me.configured_ = std::move(read.values);
        me.use(me.configured_);
        if (me.parts_.on_configured) me.parts_.on_configured(me.configured_);
        me.log(log_level::info, why + ": configuration reloaded, " +
                                    base::counted(me.configured_.jobs.size(), "job"));
    } while (me.reload_again_);
    me.reloading_ = false;
    if (was_ready && !is_stopping()) me.notice_->ready(me.summary());
}

}  // namespace pawl::agent
