#include "metrics/metrics_registry.hpp"

#include "base/utf8.hpp"
#include "time/clocks.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace pawl::metrics {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;

double seconds(std::chrono::nanoseconds duration) {
    return std::chrono::duration<double>(duration).count();
}

std::uint64_t count_of(const prometheus::Counter& counter) {
    return static_cast<std::uint64_t>(counter.Value());
}

template <class Value>
std::size_t place_of(Value value) {
    return static_cast<std::size_t>(value);
}

std::string_view word_for(renewal answer) {
    switch (answer) {
        case renewal::renewed:
            return "renewed";
        case renewal::lost:
            return "lost";
        case renewal::unknown:
            return "unknown";
    }
    return "unknown";
}

bucket_counts counts_of(const prometheus::Histogram& histogram) {
    const auto collected = histogram.Collect();
    bucket_counts counts;
    std::uint64_t below = 0;
    for (const auto& bucket : collected.histogram.bucket) {
        counts.counts.push_back(bucket.cumulative_count - below);
        below = bucket.cumulative_count;
        counts.bounds.push_back(bucket.upper_bound);
    }
    // The last one is infinite.
    if (!counts.bounds.empty()) counts.bounds.pop_back();
    return counts;
}

}  // namespace

std::string_view name_of(verb what) noexcept {
    constexpr std::array<std::string_view, verb_count> names{
        "acquire",      "withdraw", "renew",       "release", "force_release", "inspect",
        "inspect_many", "list",     "wait_change", "fence",   "examine"};
    return names[place_of(what)];
}

metrics_registry::counter* metrics_registry::add_counter(const char* name, const char* help) {
    return &BuildCounter().Name(name).Help(help).Register(registry_).Add({});
}

metrics_registry::gauge* metrics_registry::add_gauge(const char* name, const char* help) {
    return &BuildGauge().Name(name).Help(help).Register(registry_).Add({});
}

metrics_registry::metrics_registry(const build_facts& facts) {
    auto& claims = BuildCounter()
                       .Name("pawl_lock_acquire_total")
                       .Help("Lock acquisition attempts by outcome.")
                       .Register(registry_);
    for (const auto outcome : {acquire_outcome::granted, acquire_outcome::busy,
                               acquire_outcome::already_done, acquire_outcome::error})
        claims_[place_of(outcome)] =
            &claims.Add({{"outcome", std::string{pawl::name_of(outcome)}}});
    auto& renewals = BuildCounter()
                         .Name("pawl_lock_renew_total")
                         .Help("Lease renewals by outcome.")
                         .Register(registry_);
    for (const auto answer : {renewal::renewed, renewal::lost, renewal::unknown})
        renewals_[place_of(answer)] = &renewals.Add({{"outcome", std::string{word_for(answer)}}});
    auto& losses = BuildCounter()
                       .Name("pawl_lock_lost_total")
                       .Help("Leases lost by reason.")
                       .Register(registry_);
    for (const auto why : {loss_reason::taken, loss_reason::validity_ended,
                           loss_reason::lifetime_ended, loss_reason::closed})
        losses_[place_of(why)] = &losses.Add({{"reason", std::string{pawl::name_of(why)}}});
    renewal_failures_ = add_counter("pawl_lock_renewal_failures_total",
                                    "Leases with max_renew_failures failed renewals in a row.");
    forced_ =
        add_counter("pawl_lock_forced_release_total", "Locks force-released through this API.");
    held_ = add_gauge("pawl_locks_held", "Leases held by this process.");
    wait_ = &BuildHistogram()
                 .Name("pawl_lock_wait_seconds")
                 .Help("Wait time for a lock, from the attempt to the grant.")
                 .Register(registry_)
                 .Add({}, lease_bounds());
    hold_ = &BuildHistogram()
                 .Name("pawl_lock_hold_seconds")
                 .Help("Hold time of a lock, from the grant to the release.")
                 .Register(registry_)
                 .Add({}, lease_bounds());
    rejected_ = &BuildCounter()
                     .Name("pawl_fence_rejected_total")
                     .Help("Stale fencing tokens rejected by resource.")
                     .Register(registry_);
    heartbeats_ = &BuildGauge()
                       .Name("pawl_lock_owner_heartbeat_timestamp_seconds")
                       .Help("Last grant or renewal of a lease of an owner, Unix time.")
                       .Register(registry_);

    auto& operations =
        BuildHistogram()
            .Name("pawl_store_operation_seconds")
            .Help("Duration of store operations, failed ones included, by operation.")
            .Register(registry_);
    auto& failures = BuildCounter()
                         .Name("pawl_store_failures_total")
                         .Help("Failed store operations by reason.")
                         .Register(registry_);
    for (std::size_t i = 0; i < verb_count; ++i) {
        const std::string name{name_of(static_cast<verb>(i))};
        // How long a change is waited for says nothing of the store.
        if (static_cast<verb>(i) != verb::wait_change)
            operations_[i] = &operations.Add({{"operation", name}}, store_bounds());
        for (std::size_t code = 0; code < errc_count; ++code) {
            // The program ended its `locks` during the call: no failure of the store.
            if (static_cast<errc>(code) == errc::closed) continue;
            const std::string why{pawl::name_of(static_cast<errc>(code))};
            failures_[i][code] = &failures.Add({{"operation", name}, {"reason", why}});
        }
    }

    runs_ = &BuildCounter()
                 .Name("pawl_runs_total")
                 .Help("Finished runs and skipped occurrences of this node by status.")
                 .Register(registry_);
    judged_ = &BuildCounter()
                   .Name("pawl_runs_resolved_total")
                   .Help("Runs of unresponsive nodes by the status that this node recorded.")
                   .Register(registry_);
    retries_ = &BuildCounter()
                    .Name("pawl_run_retries_total")
                    .Help("Retries of failed runs.")
                    .Register(registry_);
    fail_open_ = &BuildCounter()
                      .Name("pawl_fail_open_total")
                      .Help("Runs without a lease while the store was down (on_store_down = run).")
                      .Register(registry_);
    active_ = &BuildGauge()
                   .Name("pawl_runs_active")
                   .Help("Active runs of this node.")
                   .Register(registry_);
    tokens_ = &BuildGauge()
                   .Name("pawl_fence_token")
                   .Help("Highest fencing token of a run of the job on this node.")
                   .Register(registry_);
    durations_ = &BuildHistogram()
                      .Name("pawl_run_duration_seconds")
                      .Help("Duration of runs.")
                      .Register(registry_);
    delays_ = &BuildHistogram()
                   .Name("pawl_run_start_delay_seconds")
                   .Help("Delay from the scheduled time of a run to its start; 0 for manual runs.")
                   .Register(registry_);
    orphans_ =
        add_counter("pawl_orphans_replayed_total", "Runs of other nodes resumed by this node.");
    stale_runs_ = add_gauge("pawl_stale_runs",
                            "Unfinished runs without a heartbeat, as last seen by this node.");
    journal_up_ = add_gauge("pawl_journal_up", "1 if the journal is reachable from this node.");
    journal_up_->Set(1);

    http_requests_ = &BuildCounter()
                          .Name("pawl_http_requests_total")
                          .Help("API requests by route and status.")
                          .Register(registry_);
    http_seconds_ = &BuildHistogram()
                         .Name("pawl_http_request_seconds")
                         .Help("Duration of API requests.")
                         .Register(registry_)
                         .Add({}, store_bounds());
    BuildGauge()
        .Name("pawl_build_info")
        .Help("Always 1; build facts as labels.")
        .Register(registry_)
        .Add({{"version", base::to_utf8(facts.version)},
              {"revision", base::to_utf8(facts.revision)},
              {"compiler", base::to_utf8(facts.compiler)}})
        .Set(1);
}

// -- leases

void metrics_registry::claimed(acquire_outcome outcome, millis waited) {
    claims_[place_of(outcome)]->Increment();
    if (outcome == acquire_outcome::granted) wait_->Observe(seconds(waited));
}

void metrics_registry::renewed(renewal answer) { renewals_[place_of(answer)]->Increment(); }

void metrics_registry::lost(loss_reason why) { losses_[place_of(why)]->Increment(); }

void metrics_registry::held_for(millis how_long) { hold_->Observe(seconds(how_long)); }

void metrics_registry::rejected(std::string_view resource) {
    rejected_total_.fetch_add(1, std::memory_order_relaxed);
    auto label = base::to_utf8(resource);
    const std::lock_guard lock{mutex_};
    if (resources_.size() >= labels_max && resources_.count(label) == 0) label = other_label;
    auto& series = resources_[label];
    if (series.rejected == nullptr) series.rejected = &rejected_->Add({{"resource", label}});
    series.rejected->Increment();
    series.silent_since.reset();
}

void metrics_registry::heard_from(std::string_view owner) {
    auto label = base::to_utf8(owner);
    const std::lock_guard lock{mutex_};
    // This node's own stays, however many others there are.
    if (owners_.size() >= labels_max && owners_.count(label) == 0 && label != own_owner_)
        label = other_label;
    auto& heard = owners_[label];
    if (heard == nullptr) heard = &heartbeats_->Add({{"owner", label}});
    heard->Set(seconds(time::wall_now().time_since_epoch()));
}

void metrics_registry::heard_from_own() {
    std::unique_lock lock{mutex_};
    const auto owner = own_owner_;
    lock.unlock();
    if (!owner.empty()) heard_from(owner);
}

void metrics_registry::own_owner(std::string name) {
    const std::lock_guard lock{mutex_};
    own_owner_ = std::move(name);
}

// Owners have new names with each start of their process.
void metrics_registry::forget_silent_owners() {
    const auto now = seconds(time::wall_now().time_since_epoch());
    for (auto one = owners_.begin(); one != owners_.end();) {
        const bool silent = now - one->second->Value() > seconds(silent_owner_kept);
        if (silent) heartbeats_->Remove(one->second);
        one = silent ? owners_.erase(one) : std::next(one);
    }
}

// Clients choose their names, and would use up the labels until the next start.
void metrics_registry::forget_silent_resources(instant now) {
    for (auto one = resources_.begin(); one != resources_.end();) {
        auto& since = one->second.silent_since;
        if (!since) since = now;
        const bool silent = now - *since > silent_owner_kept;
        if (silent) rejected_->Remove(one->second.rejected);
        one = silent ? resources_.erase(one) : std::next(one);
    }
}

// -- the store

void metrics_registry::answered(verb what, std::chrono::nanoseconds took,
                                const std::optional<failure>& why) {
    // It is there, and rejects: read-only, full, or without its replicas.
    const bool rejects = why && why->answered && why->code == errc::unreachable;
    if (why)
        if (auto* const failed =
                failures_[place_of(what)][place_of(rejects ? errc::rejected : why->code)])
            failed->Increment();
    if (what == verb::acquire || what == verb::renew) note_rejection(rejects);
    // A push channel that is away is no store that is away: a claim will tell.
    if (what == verb::wait_change) return;
    operations_[place_of(what)]->Observe(seconds(took));
    store_up_.store(!why || !is_outage(*why), std::memory_order_relaxed);
}

void metrics_registry::note_rejection(bool rejects) {
    if (!rejects) return rejected_since_.store(instant{}, std::memory_order_relaxed);
    auto none = instant{};
    rejected_since_.compare_exchange_strong(none, lease_clock::now(), std::memory_order_relaxed);
}

bool metrics_registry::store_rejects() const noexcept {
    const auto since = rejected_since_.load(std::memory_order_relaxed);
    return since != instant{} && lease_clock::now() - since >= rejection_lasts;
}

// -- runs

metrics_registry::job_series metrics_registry::make_series(const std::string& label) {
    job_series series;
    series.labels = {{"job", label}};
    const auto with_status = [&](run_status status) {
        auto labels = series.labels;
        labels.emplace("status", pawl::name_of(status));
        return labels;
    };
    for (std::size_t i = 0; i < run_ends.size(); ++i)
        series.ended[i] = &runs_->Add(with_status(run_ends[i]));
    series.judged = {&judged_->Add(with_status(run_status::lost)),
                     &judged_->Add(with_status(run_status::abandoned))};
    series.retries = &retries_->Add(series.labels);
    series.fail_open = &fail_open_->Add(series.labels);
    series.active = &active_->Add(series.labels);
    return series;
}

metrics_registry::job_series& metrics_registry::series_of(const std::string& job) {
    auto label = base::to_utf8(job);
    if (const auto found = jobs_.find(label); found != jobs_.end()) return found->second;
    if (jobs_.size() >= labels_max) label = other_label;
    if (const auto found = jobs_.find(label); found != jobs_.end()) return found->second;
    auto series = make_series(label);
    return jobs_.emplace(std::move(label), std::move(series)).first->second;
}

void metrics_registry::run_begun(const std::string& job, millis late, fence_token token) {
    running_total_.fetch_add(1, std::memory_order_relaxed);
    const std::lock_guard lock{mutex_};
    auto& series = series_of(job);
    ++series.running;
    series.active->Increment();
    if (series.delay == nullptr) series.delay = &delays_->Add(series.labels, run_bounds());
    series.delay->Observe(seconds(late));
    // Without a lease there is none. Partitions have each their own: the highest stands for all.
    if (number(token) <= series.highest_token) return;
    series.highest_token = number(token);
    if (series.token == nullptr) series.token = &tokens_->Add(series.labels);
    series.token->Set(static_cast<double>(series.highest_token));
}

void metrics_registry::run_ended(const std::string& job, run_status status, millis took) {
    running_total_.fetch_sub(1, std::memory_order_relaxed);
    // Nothing of it began; it may be asked for again.
    const bool has_begun = status != run_status::skipped;
    if (has_begun) ended_total_.fetch_add(1, std::memory_order_relaxed);
    if (has_begun && status != run_status::completed && status != run_status::cancelled)
        failed_total_.fetch_add(1, std::memory_order_relaxed);
    const auto* const which = std::find(run_ends.begin(), run_ends.end(), status);
    const std::lock_guard lock{mutex_};
    auto& series = series_of(job);
    if (has_begun && which != run_ends.end())
        series.ended[static_cast<std::size_t>(which - run_ends.begin())]->Increment();
    if (has_begun && series.duration == nullptr)
        series.duration = &durations_->Add(series.labels, run_bounds());
    if (has_begun) series.duration->Observe(seconds(took));
    if (series.running > 0) --series.running;
    series.active->Set(static_cast<double>(series.running));
    if (!series.configured && series.running == 0) drop(jobs_.find(series.labels.at("job")));
}

void metrics_registry::run_skipped(const std::string& job) {
    const std::lock_guard lock{mutex_};
    series_of(job).ended.back()->Increment();
}

void metrics_registry::run_judged(const std::string& job, run_status status) {
    const std::lock_guard lock{mutex_};
    series_of(job).judged[status == run_status::lost ? 0 : 1]->Increment();
}

void metrics_registry::retried(const std::string& job) {
    retries_total_.fetch_add(1, std::memory_order_relaxed);
    const std::lock_guard lock{mutex_};
    series_of(job).retries->Increment();
}

void metrics_registry::failed_open(const std::string& job) {
    fail_open_total_.fetch_add(1, std::memory_order_relaxed);
    const std::lock_guard lock{mutex_};
    series_of(job).fail_open->Increment();
}

void metrics_registry::stale_runs(std::size_t how_many, instant now) {
    const std::lock_guard lock{mutex_};
    stale_told_ = now;
    stale_runs_->Set(static_cast<double>(how_many));
}

metrics_registry::jobs::iterator metrics_registry::drop(jobs::iterator which) {
    auto& series = which->second;
    for (auto* const one : series.ended) runs_->Remove(one);
    for (auto* const one : series.judged) judged_->Remove(one);
    retries_->Remove(series.retries);
    fail_open_->Remove(series.fail_open);
    active_->Remove(series.active);
    if (series.token != nullptr) tokens_->Remove(series.token);
    if (series.duration != nullptr) durations_->Remove(series.duration);
    if (series.delay != nullptr) delays_->Remove(series.delay);
    return jobs_.erase(which);
}

void metrics_registry::keep_jobs(const std::vector<std::string>& names) {
    const std::lock_guard lock{mutex_};
    std::set<std::string> kept;
    for (const auto& name : names) kept.insert(base::to_utf8(name));
    for (auto which = jobs_.begin(); which != jobs_.end();) {
        which->second.configured = kept.count(which->first) == 1 || which->first == other_label;
        const bool gone = !which->second.configured && which->second.running == 0;
        which = gone ? drop(which) : std::next(which);
    }
    for (const auto& name : names) series_of(name);
}

// -- the API's server

void metrics_registry::served(std::string_view route, unsigned status,
                              std::chrono::nanoseconds took) {
    http_seconds_->Observe(seconds(took));
    const std::lock_guard lock{mutex_};
    std::pair served_by{base::to_utf8(route), status};
    if (served_.size() >= labels_max && served_.count(served_by) == 0)
        served_by.first = other_label;
    auto& counted = served_[served_by];
    if (counted == nullptr)
        counted =
            &http_requests_->Add({{"route", served_by.first}, {"code", std::to_string(status)}});
    counted->Increment();
}

// -- reading

totals metrics_registry::read() const {
    totals now;
    for (std::size_t i = 0; i < outcome_count; ++i) now.claims[i] = count_of(*claims_[i]);
    for (std::size_t i = 0; i < renewal_count; ++i) now.renewals[i] = count_of(*renewals_[i]);
    for (const auto* const one : losses_) now.lost += count_of(*one);
    now.rejected = rejected_total_.load(std::memory_order_relaxed);
    now.forced = count_of(*forced_);
    now.retries = retries_total_.load(std::memory_order_relaxed);
    now.fail_open = fail_open_total_.load(std::memory_order_relaxed);
    now.runs_ended = ended_total_.load(std::memory_order_relaxed);
    now.runs_failed = failed_total_.load(std::memory_order_relaxed);
    now.wait = counts_of(*wait_);
    now.hold = counts_of(*hold_);
    for (const auto* const one : operations_)
        if (one != nullptr) now.store.add(counts_of(*one));
    now.held = static_cast<std::size_t>(std::max(0.0, held_->Value()));
    now.running = running_total_.load(std::memory_order_relaxed);
    return now;
}

std::vector<prometheus::MetricFamily> metrics_registry::collect(instant now) {
    {
        const std::lock_guard lock{mutex_};
        forget_silent_owners();
        forget_silent_resources(now);
        if (stale_told_ && now - *stale_told_ > stale_runs_valid) {
            stale_told_.reset();
            stale_runs_->Set(0);
        }
    }
    return registry_.Collect();
}

}  // namespace pawl::metrics
