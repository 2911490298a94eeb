#include "documents/reading.hpp"

#include "documents/documents.hpp"
#include "schedule/dispatcher.hpp"
#include "time/rfc3339.hpp"
#include "time/zone.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace pawl::documents {
namespace {

namespace json = boost::json;

constexpr auto count_max = std::int64_t{std::numeric_limits<std::uint32_t>::max()};
constexpr auto number_max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t fence_token_max = (std::int64_t{1} << 53) - 1;
constexpr std::int64_t int_max = std::numeric_limits<int>::max();
constexpr std::int64_t int_min = std::numeric_limits<int>::min();

const json::array none;

std::optional<std::int64_t> unix_millis(std::string_view text) {
    const auto found = time::parse_rfc3339(text);
    if (found.has_error()) return std::nullopt;
    return std::chrono::floor<millis>(*found).time_since_epoch().count();
}

std::optional<std::int64_t> whole(const json::value& from) {
    if (from.is_int64()) return from.as_int64();
    if (from.is_uint64() && from.as_uint64() <= static_cast<std::uint64_t>(number_max))
        return static_cast<std::int64_t>(from.as_uint64());
    return std::nullopt;
}

template <class T>
result<T> checked(const member_reader& from, T made) {
    if (from.fault()) return *from.fault();
    return made;
}

}  // namespace

member_reader::member_reader(const json::value& from, std::string_view what) : what_{what} {
    members_ = from.if_object();
    if (members_ == nullptr) fault_ = failure{errc::protocol, what_ + " is not a JSON object"};
}

void member_reader::reject(std::string_view name, std::string_view right) {
    if (!fault_)
        fault_ = failure{errc::protocol, "'" + std::string{name} + "' of " + what_ + " must be " +
                                             std::string{right}};
}

const json::value* member_reader::find(std::string_view name) const {
    const auto* found = members_ == nullptr ? nullptr : members_->if_contains(name);
    return found == nullptr || found->is_null() ? nullptr : found;
}

const json::value* member_reader::need(std::string_view name) {
    const auto* found = find(name);
    if (found == nullptr) reject(name, "there");
    return found;
}

std::string member_reader::text(std::string_view name) {
    const auto* found = need(name);
    if (found == nullptr) return "";
    if (found->is_string()) return std::string{found->as_string()};
    reject(name, "a string");
    return "";
}

std::int64_t member_reader::integer(std::string_view name, std::int64_t least, std::int64_t most) {
    const auto* found = need(name);
    if (found == nullptr) return least;
    const auto number = whole(*found);
    if (number && *number >= least && *number <= most) return *number;
    reject(name, "an integer from " + std::to_string(least) + " to " + std::to_string(most));
    return least;
}

std::uint64_t member_reader::token(std::string_view name) {
    return static_cast<std::uint64_t>(integer(name, 0, fence_token_max));
}

bool member_reader::flag(std::string_view name) {
    const auto* found = need(name);
    if (found == nullptr) return false;
    if (found->is_bool()) return found->as_bool();
    reject(name, "true or false");
    return false;
}

std::int64_t member_reader::time(std::string_view name) {
    const auto* found = need(name);
    if (found == nullptr) return 0;
    const auto at = found->is_string() ? unix_millis(found->as_string()) : std::nullopt;
    if (!at) reject(name, "a time such as 2026-11-20T06:00:00Z");
    return at.value_or(0);
}

std::optional<std::int64_t> member_reader::time_or_none(std::string_view name) {
    if (find(name) == nullptr) return std::nullopt;
    return time(name);
}

std::optional<std::int64_t> member_reader::integer_or_none(std::string_view name) {
    if (find(name) == nullptr) return std::nullopt;
    return integer(name, int_min, int_max);
}

const json::array& member_reader::list(std::string_view name) {
    const auto* found = need(name);
    if (found == nullptr) return none;
    if (found->is_array()) return found->as_array();
    reject(name, "a list");
    return none;
}

result<record> lock_of(const json::value& from) {
    member_reader read{from, "a lock"};
    record lock;
    lock.key = read.text("key");
    lock.owner = read.text("owner");
    lock.last_token = fence_token{read.token("fence_token")};
    if (read.flag("held")) lock.holder = lock.last_token;
    if (read.find("newest_token") != nullptr)
        lock.last_token = fence_token{read.token("newest_token")};
    lock.acquired_at = read.time("acquired_at");
    lock.remaining = millis{read.integer("remaining_ms", 0, number_max)};
    if (const auto at = read.time_or_none("last_occurrence")) lock.last_done = occurrence{*at};
    lock.waiters = static_cast<std::uint32_t>(read.integer("waiters", 0, count_max));
    return checked(read, std::move(lock));
}

result<run_record> run_of(const json::value& from) {
    member_reader read{from, "a run"};
    run_record run;
    run.id = read.text("id");
    run.job = read.text("job");
    run.partition = static_cast<std::uint32_t>(read.integer("partition", 0, count_max));
    run.owner = read.text("owner");
    run.node = read.text("node");
    run.token = fence_token{read.token("fence_token")};
    if (const auto at = read.time_or_none("occurrence")) run.occurrence = occurrence{*at};
    run.trigger = read.text("trigger");
    const auto word = read.text("status");
    run.reason = read.text("reason");
    run.started_at = read.time("started_at");
    run.completed_at = read.time_or_none("completed_at");
    run.last_heartbeat = read.time("last_heartbeat");
    if (const auto code = read.integer_or_none("exit_status"))
        run.exit_status = static_cast<int>(*code);
    run.attempt = static_cast<int>(read.integer("attempt", 0, int_max));
    run.checkpoint = read.text("checkpoint");
    run.key = read.text("key");
    run.output_size = static_cast<std::uint64_t>(read.integer("output_size", 0, number_max));
    run.cancel_requested = read.flag("cancel_requested");
    if (read.fault()) return *read.fault();
    const auto known = run_status_named(word);
    if (!known)
        return failure{errc::protocol,
                       "'status' of a run is a word that this version does not know"};
    run.status = *known;
    return run;
}

result<run_event> event_of(const json::value& from) {
    member_reader read{from, "an event of a run"};
    run_event event;
    event.at = read.time("at");
    event.kind = read.text("kind");
    event.text = read.text("text");
    event.node = read.text("node");
    event.attempt = static_cast<int>(read.integer("attempt", 0, int_max));
    event.token = fence_token{read.token("fence_token")};
    return checked(read, std::move(event));
}

result<node_entry> node_of(const json::value& from, std::int64_t as_of) {
    member_reader read{from, "a node"};
    node_entry node;
    node.name = read.text("name");
    node.id = read.text("id");
    const auto state = read.text("state");
    node.version = read.text("version");
    // An earlier agent does not say.
    if (read.find("tzdata") != nullptr)
        node.version = time::with_zones(std::move(node.version), read.text("tzdata"));
    node.address = read.text("address");
    node.started_at = read.time("started_at");
    node.last_seen = read.time("last_seen");
    node.running = static_cast<std::uint32_t>(read.integer("running", 0, count_max));
    node.running_max = static_cast<std::uint32_t>(read.integer("running_max", 0, count_max));
    node.jobs = static_cast<std::uint32_t>(read.integer("jobs", 0, count_max));
    node.draining = state == "draining";
    // Its state was judged by the journal's clock, which may differ a little from the agent's.
    node.age = millis{std::max<std::int64_t>(as_of - node.last_seen, 0)};
    node.age = state == "unresponsive"
                   ? std::max(node.age, schedule::node_heartbeat_timeout + millis{1})
                   : std::min<millis>(node.age, schedule::node_heartbeat_timeout);
    return checked(read, std::move(node));
}

result<audit_entry> audit_of(const json::value& from) {
    member_reader read{from, "an entry of the audit"};
    audit_entry entry;
    entry.sequence = static_cast<std::uint64_t>(read.integer("sequence", 1, number_max));
    entry.at = read.time("at");
    entry.actor = read.text("actor");
    entry.action = read.text("action");
    entry.target = read.text("target");
    entry.detail = read.text("detail");
    entry.previous = read.text("previous");
    entry.hash = read.text("hash");
    return checked(read, std::move(entry));
}

result<job_entry> job_of(const json::value& from) {
    member_reader read{from, "a job"};
    job_entry job;
    job.name = read.text("name");
    job.schedule = read.text("schedule");
    job.zone = read.text("zone");
    job.partitions = static_cast<std::uint32_t>(read.integer("partitions", 1, count_max));
    // An earlier agent does not say. Its entry counts the keys, of which each slot has one.
    if (read.find("slots") != nullptr)
        job.partitions = std::max(job.partitions,
                                  static_cast<std::uint32_t>(read.integer("slots", 1, count_max)));
    job.node = read.text("published_by");
    job.published_at = read.time("published_at");
    if (const auto* definition = read.find("definition"))
        job.definition = json::serialize(*definition);
    return checked(read, std::move(job));
}

result<std::optional<job_pause>> pause_of(const json::value& from, const std::string& job) {
    if (from.is_null()) return std::optional<job_pause>{};
    member_reader read{from, "a pause"};
    job_pause pause;
    pause.job = job;
    pause.reason = read.text("reason");
    pause.by = read.text("by");
    pause.at = read.time("at");
    return checked(read, std::optional<job_pause>{std::move(pause)});
}

}  // namespace pawl::documents
