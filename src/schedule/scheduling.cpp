#include "schedule/scheduling.hpp"

#include "base/number.hpp"
#include "net/remote_operation.hpp"
#include "runtime/bodies.hpp"
#include "runtime/link.hpp"
#include "time/clocks.hpp"

#include <utility>

namespace pawl::schedule {
namespace {

using boost::asio::awaitable;

// Tells the program what the dispatcher tells. What it throws ends the process, wherever it is
// told.
class listener : public dispatch_observer {
public:
    listener(std::weak_ptr<scheduling> home, std::shared_ptr<schedule_observer> watcher)
        : home_{std::move(home)}, watcher_{std::move(watcher)} {}

    void log(log_level how, std::string_view line) noexcept override {
        if (watcher_) watcher_->log(how, line);
    }
    void on_ready() noexcept override {
        // What was added while it found out where the schedules stand.
        if (const auto home = home_.lock()) home->apply();
        if (watcher_) watcher_->on_ready();
    }
    void on_run_started(const std::string& job, millis late, fence_token token) noexcept override {
        if (watcher_) watcher_->on_run_started(job, late, token);
    }
    void on_run_finished(const std::string& job, run_status status, millis took) noexcept override {
        if (watcher_) watcher_->on_run_finished(job, status, took);
    }
    void on_skipped(const std::string& job, pawl::occurrence occurrence,
                    skip_reason why) noexcept override {
        if (watcher_) watcher_->on_skipped(job, occurrence, text_of(why));
    }
    void on_fail_open(const std::string& job) noexcept override {
        if (watcher_) watcher_->on_fail_open(job);
    }
    void on_orphan_resumed(const std::string& job) noexcept override {
        if (watcher_) watcher_->on_orphan_resumed(job);
    }

private:
    std::weak_ptr<scheduling> home_;
    std::shared_ptr<schedule_observer> watcher_;
};

scheduler_options with_defaults(scheduler_options options) {
    if (options.max_concurrent_runs < 1 || options.max_concurrent_runs > 10'000)
        throw option_error{"max_concurrent_runs is " + std::to_string(options.max_concurrent_runs) +
                           "; expected 1 to 10000"};
    constexpr auto longest = std::chrono::floor<millis>(std::chrono::years{10});
    if (options.shutdown_grace.count() < 0 || options.shutdown_grace > longest)
        throw option_error{"shutdown_grace is " + std::to_string(options.shutdown_grace.count()) +
                           " ms; expected 0 to ten years"};
    if (options.node.empty()) options.node = runtime::host_name();
    return options;
}

}  // namespace

std::shared_ptr<scheduling> scheduling::make(runtime::core& home, scheduler_options options) {
    auto made = std::make_shared<scheduling>(home, std::move(options));
    made->attachment_ = net::attach(home.loop().get_executor(), made);
    made->around_ = std::make_shared<const function_context>(
        function_context{home.loop(), home.home(), made->attachment_,
                         std::make_shared<net::blocking_pool>(made->options_.max_concurrent_runs),
                         std::stop_source{}});
    return made;
}

scheduling::scheduling(runtime::core& home, scheduler_options options)
    : core_{home},
      keeps_records_{home.keeps_records()},
      options_{with_defaults(std::move(options))} {}

void scheduling::add(const pawl::job& what, const schedule_options& when) {
    if (when.cron.empty() && !keeps_records_)
        throw option_error{
            "the job '" + what.name +
            "' has no cron, and there is no journal through which a user can trigger it: "
            "give one of the two"};
    std::shared_ptr<const job_plan> plan;
    {
        const runtime::link::visit on{home()};
        if (!on) throw store_error{net::locks_closed()};
        plan = plan_of(what, when, options_.node, *on.running(), around_);
    }
    {
        const std::lock_guard lock{mutex_};
        if (plans_.contains(what.name))
            throw option_error{"the job '" + what.name +
                               "' is there already: remove it first, or give it another name"};
        if (const auto* other = sharing_a_key(*plan))
            throw option_error{"the jobs '" + what.name + "' and '" + other->name +
                               "' have a key in common, as partitions and slots are NAME/0 and so "
                               "on: give it another name"};
        plans_.emplace(what.name, std::move(plan));
    }
    tell();
}

// Of two jobs with the same key either would run what the other has claimed.
const job_plan* scheduling::sharing_a_key(const job_plan& what) const {
    for (std::uint32_t i = 0; what.partitions > 1 && i < what.partitions; ++i)
        if (const auto found = plans_.find(what.key(i)); found != plans_.end())
            if (found->second->partitions == 1) return found->second.get();
    const auto slash = what.name.rfind('/');
    if (what.partitions > 1 || slash == std::string::npos) return nullptr;
    const auto whole = plans_.find(std::string_view{what.name}.substr(0, slash));
    const auto part =
        base::parse_number<std::uint32_t>(std::string_view{what.name}.substr(slash + 1));
    const bool is_one_of_its = whole != plans_.end() && part && whole->second->partitions > *part &&
                               whole->second->partitions > 1 &&
                               whole->second->key(*part) == what.name;
    return is_one_of_its ? whole->second.get() : nullptr;
}

bool scheduling::remove(std::string_view name) {
    {
        const std::lock_guard lock{mutex_};
        const auto found = plans_.find(name);
        if (found == plans_.end()) return false;
        plans_.erase(found);
    }
    tell();
    return true;
}

std::optional<wall_instant> scheduling::next(std::string_view name) const {
    std::shared_ptr<const job_plan> plan;
    {
        const std::lock_guard lock{mutex_};
        const auto found = plans_.find(name);
        if (found != plans_.end()) plan = found->second;
    }
    if (!plan || !plan->when) return std::nullopt;
    const runtime::link::visit here{home()};
    const auto now = here ? here.loop().wall() : time::local_now();
    return plan->when->when.next(now, plan->when->where, plan->when->policy);
}

std::vector<std::shared_ptr<const job_plan>> scheduling::plans() const {
    std::vector<std::shared_ptr<const job_plan>> all;
    all.reserve(plans_.size());
    for (const auto& [name, plan] : plans_) all.push_back(plan);
    return all;
}

void scheduling::loop_ends() {
    auto ending = around_->ending;
    ending.request_stop();
    around_->threads->stop();
}

// Many jobs that are added at once are one change.
void scheduling::tell() {
    {
        const std::lock_guard lock{mutex_};
        if (!running_ || std::exchange(told_, true)) return;
    }
    attachment_->post([weak = weak_from_this()] {
        if (const auto who = weak.lock()) who->apply();
    });
}

void scheduling::apply() {
    // Before that, it is not known where schedules stand; it is done as soon as it is.
    if (!dispatcher_ || !dispatcher_->is_ready()) return;
    std::vector<std::shared_ptr<const job_plan>> now;
    {
        const std::lock_guard lock{mutex_};
        told_ = false;
        now = plans();
    }
    dispatcher_->replace_jobs(std::move(now));
}

void scheduling::claim_to_run() {
    const std::lock_guard lock{mutex_};
    if (std::exchange(running_, true))
        throw option_error{"this scheduler runs already: one run() at a time"};
}

awaitable<bool> scheduling::run(std::shared_ptr<scheduling> self, std::stop_token stop) {
    auto& me = *self;
    // The end of `locks` stops it, and waits for it.
    const runtime::core::activity in_progress{me.core_};
    const runtime::combined_stop told{std::move(stop), me.core_.closing()};
    me.claim_to_run();
    // However it ends, it may be run again.
    const struct turn {
        scheduling& whose;
        ~turn() {
            whose.dispatcher_.reset();
            const std::lock_guard lock{whose.mutex_};
            whose.running_ = false;
            whose.told_ = false;
        }
    } mine{me};
    auto finding = me.core_.find_records();
    auto records = co_await std::move(finding);
    dispatcher::parts made_of;
    made_of.loop = &me.core_.loop();
    made_of.engine = me.core_.running();
    made_of.records = std::move(records);
    made_of.me = {me.options_.node, made_of.engine->owner(), "library", ""};
    made_of.runs_max = me.options_.max_concurrent_runs;
    made_of.recording_timeout = me.core_.recording_timeout;
    made_of.observer = std::make_shared<listener>(self, me.options_.observer);
    me.dispatcher_ = std::make_shared<dispatcher>(std::move(made_of));
    std::vector<std::shared_ptr<const job_plan>> first;
    {
        const std::lock_guard lock{me.mutex_};
        first = me.plans();
    }
    me.dispatcher_->replace_jobs(std::move(first));
    auto running = dispatcher::run(me.dispatcher_, told.token(), me.options_.shutdown_grace);
    co_await std::move(running);
    auto outlasting = dispatcher::outlast(me.dispatcher_);
    co_await std::move(outlasting);
    co_return true;
}

}  // namespace pawl::schedule
