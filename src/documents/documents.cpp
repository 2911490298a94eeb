#include "documents/documents.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"
#include "schedule/dispatcher.hpp"
#include "schedule/job/job_digest.hpp"
#include "time/clocks.hpp"
#include "time/rfc3339.hpp"
#include "time/zone.hpp"

namespace pawl::documents {
namespace {

namespace json = boost::json;

// Between who cancelled a run and why.
constexpr std::string_view cancel_mark = ": ";

json::value time_of(const std::optional<pawl::occurrence>& occurrence) {
    if (!occurrence) return nullptr;
    return json::string{time_text(number(*occurrence))};
}

}  // namespace

std::string time_text(std::int64_t unix_millis) {
    return time::format_rfc3339(time::wall_instant{millis{unix_millis}});
}

std::int64_t unix_millis_now() {
    return std::chrono::floor<millis>(time::wall_now()).time_since_epoch().count();
}

std::string now_text() { return time_text(unix_millis_now()); }

json::value time_or_null(const std::optional<std::int64_t>& unix_millis) {
    if (!unix_millis) return nullptr;
    return json::string{time_text(*unix_millis)};
}

json::object json_of(const record& lock) {
    json::object one;
    one["key"] = lock.key;
    one["owner"] = lock.owner;
    one["fence_token"] = number(number(lock.holder) != 0 ? lock.holder : lock.last_token);
    one["acquired_at"] = time_text(lock.acquired_at);
    one["remaining_ms"] = lock.remaining.count();
    one["held"] = number(lock.holder) != 0;
    one["last_occurrence"] = time_of(lock.last_done);
    one["waiters"] = lock.waiters.value_or(0);
    return one;
}

json::object json_of(const run_record& run) {
    json::object one;
    one["id"] = run.id;
    one["job"] = run.job;
    one["partition"] = run.partition;
    one["owner"] = run.owner;
    one["node"] = run.node;
    one["fence_token"] = number(run.token);
    one["occurrence"] = time_of(run.occurrence);
    one["trigger"] = run.trigger;
    one["status"] = name_of(run.status);
    one["reason"] = run.reason;
    one["started_at"] = time_text(run.started_at);
    one["completed_at"] = time_or_null(run.completed_at);
    one["last_heartbeat"] = time_text(run.last_heartbeat);
    one["exit_status"] = nullptr;
    if (run.exit_status) one["exit_status"] = *run.exit_status;
    one["attempt"] = run.attempt;
    one["checkpoint"] = run.checkpoint;
    one["key"] = run.key;
    one["output_size"] = run.output_size;
    one["cancel_requested"] = run.cancel_requested;
    return one;
}

json::object json_of(const run_record& run, const std::vector<run_event>& history) {
    auto one = json_of(run);
    const auto callers = callers_of(history);
    one["triggered_by"] = callers.triggered_by;
    one["cancelled_by"] = callers.cancelled_by;
    one["cancel_reason"] = callers.cancel_reason;
    json::array events;
    for (const auto& event : history) events.push_back(json_of(event));
    one["history"] = std::move(events);
    return one;
}

json::object json_of(const run_event& event) {
    return {{"at", time_text(event.at)}, {"kind", event.kind},
            {"text", event.text},        {"node", event.node},
            {"attempt", event.attempt},  {"fence_token", number(event.token)}};
}

json::object json_of(const node_entry& node) {
    const auto split = time::split_zones(schedule::split_jobs(node.version).version);
    return {{"name", node.name},
            {"id", node.id},
            {"state", state_of(node)},
            {"version", split.version},
            {"tzdata", split.zones},
            {"address", node.address},
            {"started_at", time_text(node.started_at)},
            {"last_seen", time_text(node.last_seen)},
            {"running", node.running},
            {"running_max", node.running_max},
            {"jobs", node.jobs}};
}

json::object json_of(const audit_entry& entry) {
    return {{"sequence", entry.sequence}, {"at", time_text(entry.at)}, {"actor", entry.actor},
            {"action", entry.action},     {"target", entry.target},    {"detail", entry.detail},
            {"previous", entry.previous}, {"hash", entry.hash}};
}

json::value json_of(const job_pause* pause) {
    if (pause == nullptr) return nullptr;
    return json::object{{"reason", pause->reason}, {"by", pause->by}, {"at", time_text(pause->at)}};
}

std::string cancel_words(const std::string& who, const std::string& reason) {
    return reason.empty() ? who : who + std::string{cancel_mark} + reason;
}

run_callers callers_of(const std::vector<run_event>& history) {
    run_callers found;
    for (const auto& event : history) {
        if (event.kind == "asked") found.triggered_by = event.text;
        if (event.kind != "cancel_requested") continue;
        const auto at = event.text.find(cancel_mark);
        found.cancelled_by = event.text.substr(0, at);
        if (at != std::string::npos)
            found.cancel_reason = event.text.substr(at + cancel_mark.size());
    }
    return found;
}

std::string_view state_of(const node_entry& node) {
    if (node.age > schedule::node_heartbeat_timeout) return "unresponsive";
    return node.draining ? "draining" : "live";
}

std::vector<std::pair<std::string, std::string>> zones_of(const std::vector<node_entry>& nodes) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const auto& one : nodes)
        if (one.age <= schedule::node_heartbeat_timeout)
            all.emplace_back(one.name, time::split_zones(one.version).zones);
    return all;
}

std::string_view state_of(const record& lock) {
    if (number(lock.holder) != 0) return "held";
    return lock.remaining.count() > 0 ? "cooldown" : "free";
}

fence_token releasable(const record& shown) noexcept {
    if (number(shown.holder) != 0) return shown.holder;
    return shown.remaining.count() > 0 ? shown.last_token : fence_token{};
}

std::string in_doubt(std::string detail) {
    constexpr std::string_view doubt = "(whether it took effect is not known)";
    return detail.empty() ? std::string{doubt} : std::string{doubt} + " " + std::move(detail);
}

std::string force_release_detail(const record& shown, std::string_view reason) {
    const auto token = std::to_string(number(releasable(shown)));
    return (number(shown.holder) != 0 ? "token " + token + " of " + shown.owner
                                      : "cooldown after token " + token) +
           ": " + std::string{reason};
}

std::string force_release_line(const record& shown, std::string_view reason) {
    if (number(shown.holder) == 0)
        return "cooldown force-ended key=" + shown.key +
               " token=" + std::to_string(number(releasable(shown))) + ": " + std::string{reason};
    return "lock force-released key=" + shown.key + " owner=" + shown.owner +
           " token=" + std::to_string(number(shown.holder)) + ": " + std::string{reason};
}

std::string_view word_of(severity level) {
    switch (level) {
        case severity::ok:
            return "OK";
        case severity::warn:
            return "WARN";
        case severity::fail:
            break;
    }
    return "FAIL";
}

json::object definition_of(const job_entry& job) {
    boost::system::error_code broken;
    auto parsed = json::parse(job.definition, broken);
    if (broken || !parsed.is_object()) return {};
    return std::move(parsed.as_object());
}

bool is_enabled(const job_entry& job) {
    const auto what = definition_of(job);
    const auto* told = what.if_contains("enabled");
    return told == nullptr || !told->is_bool() || told->as_bool();
}

std::vector<std::int64_t> occurrences_after(const job_entry& job,
                                            std::chrono::system_clock::time_point from,
                                            std::size_t count) {
    return job_terms{job}.occurrences_after(
        std::chrono::floor<millis>(from).time_since_epoch().count(), count);
}

json::object json_of(const job_entry& job, const job_pause* pause, const run_record* last,
                     std::chrono::system_clock::time_point now) {
    return json_of(job, job_terms{job}, pause, last, now);
}

// As the configuration says it: any, none, or a list of patterns.
json::value json_of(const base::argument_rule& rule) {
    if (rule.any || rule.patterns.empty()) return rule.any;
    return json::array(rule.patterns.begin(), rule.patterns.end());
}

json::object json_of(const job_entry& job, const job_terms& terms, const job_pause* pause,
                     const run_record* last, std::chrono::system_clock::time_point now) {
    json::object one;
    one["name"] = job.name;
    one["schedule"] = job.schedule;
    one["zone"] = job.zone;
    one["partitions"] = terms.has_slots ? 1 : job.partitions;
    one["slots"] = terms.has_slots ? job.partitions : 1;
    one["paused"] = json_of(pause);
    one["next"] = nullptr;
    if (pause == nullptr) {
        const auto from = std::chrono::floor<millis>(now).time_since_epoch().count();
        const auto next = terms.occurrences_after(from, 1);
        if (!next.empty()) one["next"] = time_text(next.front());
    }
    one["last_run"] = nullptr;
    if (last != nullptr) one["last_run"] = json_of(*last);
    one["arguments"] = json_of(terms.arguments);
    one["published_by"] = job.node;
    one["published_at"] = time_text(job.published_at);
    one["definition"] = terms.definition;
    return one;
}

}  // namespace pawl::documents
