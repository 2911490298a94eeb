#include "metrics/instruments.hpp"

#include "base/utf8.hpp"
#include "metrics/measured_store.hpp"
#include "metrics/metrics_registry.hpp"
#include "metrics/observers.hpp"
#include "metrics/process_facts.hpp"
#include "metrics/sample_buffer.hpp"
#include "net/timer.hpp"
#include "time/clocks.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace pawl::metrics {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

std::int64_t unix_millis_now() {
    return std::chrono::floor<millis>(time::wall_now().time_since_epoch()).count();
}

// Which instant counts of those that have one label: a series that is there twice spoils the whole
// page.
enum class counts { latest, earliest };

MetricFamily instants_of(const char* name, const char* help, const char* label, counts which,
                         const std::vector<std::pair<std::string, std::int64_t>>& instants) {
    std::map<std::string, std::int64_t> told;
    for (const auto& [who, when] : instants) {
        auto text = base::to_utf8(who);
        if (told.size() >= labels_max && told.count(text) == 0) text = other_label;
        auto& known = told.try_emplace(text, when).first->second;
        known = which == counts::latest ? std::max(known, when) : std::min(known, when);
    }
    MetricFamily family{name, help, MetricType::Gauge, {}};
    for (const auto& [who, when] : told) {
        ClientMetric metric;
        metric.label.push_back({label, who});
        metric.gauge.value = static_cast<double>(when) / 1000;
        family.metric.push_back(std::move(metric));
    }
    return family;
}

MetricFamily single(const char* name, const char* help, MetricType type, double value) {
    ClientMetric metric;
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    return {name, help, type, {std::move(metric)}};
}

std::vector<MetricFamily> families_of(const live_values& now) {
    const auto count = [](const char* name, const char* help, std::uint64_t value) {
        return single(name, help, MetricType::Counter, static_cast<double>(value));
    };
    std::vector<MetricFamily> all;
    all.push_back(single("pawl_store_up", "1 while the store answers this node.", MetricType::Gauge,
                         now.store_up ? 1 : 0));
    all.push_back(single("pawl_scheduler_up", "1 while the scheduler's loop answers.",
                         MetricType::Gauge, now.scheduler_up ? 1 : 0));
    // A node that was started again may be listed twice.
    all.push_back(instants_of("pawl_node_heartbeat_timestamp_seconds",
                              "Last heartbeat of a node, Unix time.", "node", counts::latest,
                              now.node_heartbeats));
    // Of those that share a label the one that is overdue.
    all.push_back(instants_of("pawl_schedule_next_timestamp_seconds",
                              "Next occurrence of a job, Unix time.", "job", counts::earliest,
                              now.next_occurrences));
    auto head =
        single("pawl_audit_head", "Newest entry of the audit log: its sequence, and its hash.",
               MetricType::Gauge, static_cast<double>(now.audit_sequence));
    if (now.audit_hash.empty())
        head.metric.clear();
    else
        head.metric.front().label.push_back({"hash", now.audit_hash});
    all.push_back(std::move(head));
    all.push_back(single("pawl_http_connections", "Open API connections.", MetricType::Gauge,
                         static_cast<double>(now.connections)));
    all.push_back(
        count("pawl_http_connections_accepted_total", "Accepted API connections.", now.accepted));
    all.push_back(count("pawl_http_connections_rejected_total",
                        "Connections and requests rejected for lack of room.", now.rejected));
    all.push_back(count("pawl_http_malformed_total", "Requests that were malformed or too large.",
                        now.malformed));
    all.push_back(count("pawl_http_timed_out_total",
                        "Connections that timed out while sending or receiving.", now.timed_out));
    return all;
}

}  // namespace

class instruments::state {
public:
    explicit state(const build_facts& facts) : counted{std::make_shared<metrics_registry>(facts)} {}

    void take_sample() {
        auto now = counted->read();
        const std::lock_guard lock{mutex_};
        buffer_.take(std::move(now), unix_millis_now());
    }
    void begin_sampling() {
        auto now = counted->read();
        const std::lock_guard lock{mutex_};
        buffer_.begin(std::move(now));
    }
    std::vector<sample> samples() const {
        const std::lock_guard lock{mutex_};
        return buffer_.samples();
    }

    const std::shared_ptr<metrics_registry> counted;

private:
    mutable std::mutex mutex_;
    sample_buffer buffer_;  // under mutex_
};

namespace {

// Does not keep alive what it samples: the instruments go when they have no owner any more.
template <class State>
boost::asio::awaitable<void> sample_for_ever(std::weak_ptr<State> what) {
    for (;;) {
        auto pause = net::sleep_for(sample_interval);
        co_await std::move(pause);
        const auto living = what.lock();
        if (!living) co_return;
        living->take_sample();
    }
}

}  // namespace

instruments::instruments(const build_facts& facts) : state_{std::make_shared<state>(facts)} {}
instruments::~instruments() = default;

std::shared_ptr<pawl::observer> instruments::of_locks() {
    return make_lock_watcher(state_->counted);
}

std::shared_ptr<schedule::dispatch_observer> instruments::of_runs() {
    return make_run_watcher(state_->counted);
}

runtime::store_maker instruments::measuring(runtime::store_maker make) {
    return [make = std::move(make), counted = state_->counted](net::loop& where) {
        return make_measured_store(make(where), counted);
    };
}

void instruments::leased(acquire_outcome outcome, millis waited) {
    state_->counted->claimed(outcome, waited);
}
void instruments::renewed(bool alive) {
    state_->counted->renewed(alive ? renewal::renewed : renewal::lost);
}
void instruments::heard_from(std::string_view owner) { state_->counted->heard_from(owner); }
void instruments::own_owner(std::string name) { state_->counted->own_owner(std::move(name)); }
void instruments::released(millis held_for) { state_->counted->held_for(held_for); }
void instruments::rejected(std::string_view resource) { state_->counted->rejected(resource); }
void instruments::forced_release() { state_->counted->forced_release(); }
void instruments::answered(std::string_view route, unsigned status, std::chrono::nanoseconds took) {
    state_->counted->served(route, status, took);
}

void instruments::keep_jobs(const std::vector<std::string>& names) {
    state_->counted->keep_jobs(names);
}

bool instruments::store_is_up() const noexcept { return state_->counted->store_is_up(); }
bool instruments::store_rejects() const noexcept { return state_->counted->store_rejects(); }

std::string instruments::text(const live_values& now) {
    auto all = state_->counted->collect(lease_clock::now());
    for (auto&& more : {families_of(now), process_facts()})
        all.insert(all.end(), more.begin(), more.end());
    return prometheus::TextSerializer{}.Serialize(all);
}

void instruments::start_sampling(net::loop& where) {
    state_->begin_sampling();
    boost::asio::co_spawn(where.get_executor(), sample_for_ever(std::weak_ptr<state>{state_}),
                          boost::asio::detached);
}

std::vector<sample> instruments::samples() const { return state_->samples(); }

}  // namespace pawl::metrics
