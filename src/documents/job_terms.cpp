#include "documents/job_terms.hpp"

#include "base/duration.hpp"
#include "base/reserved_names.hpp"
#include "base/text.hpp"
#include "documents/documents.hpp"
#include "schedule/dispatcher.hpp"
#include "time/cron.hpp"

#include <pawl/partition.hpp>

#include <algorithm>
#include <utility>

namespace pawl::documents {
namespace {

namespace json = boost::json;

std::string text_in(const json::object& what, std::string_view name) {
    const auto* found = what.if_contains(name);
    return found != nullptr && found->is_string() ? std::string{found->as_string()} : std::string{};
}

millis duration_in(const json::object& what, std::string_view name, millis otherwise) {
    const auto length = base::parse_duration(text_in(what, name));
    return length.has_value() ? *length : otherwise;
}

bool flag_in(const json::object& what, std::string_view name, bool otherwise) {
    const auto* found = what.if_contains(name);
    return found != nullptr && found->is_bool() ? found->as_bool() : otherwise;
}

std::int64_t number_in(const json::object& what, std::string_view name) {
    const auto* found = what.if_contains(name);
    if (found == nullptr) return 0;
    boost::system::error_code no_number;
    const auto read = found->to_number<std::int64_t>(no_number);
    return no_number ? 0 : read;
}

// Under its name, or the one that agents published it under before.
std::string_view name_in(const json::object& what, std::string_view name, std::string_view former) {
    return what.contains(name) ? name : former;
}

base::argument_rule arguments_in(const json::object& what) {
    base::argument_rule rule;
    // A program's own function takes what it is given.
    rule.any = what.contains("body") || flag_in(what, "arguments", false);
    const auto* found = what.if_contains("arguments");
    if (found == nullptr || !found->is_array()) return rule;
    for (const auto& one : found->as_array())
        if (one.is_string()) rule.patterns.emplace_back(one.as_string());
    return rule;
}

std::optional<schedule::occurrence_rule> rule_of(const job_entry& job, const json::object& what) {
    const auto when = time::cron::parse(job.schedule);
    const auto where = time::zone::find(job.zone.empty() ? "UTC" : job.zone);
    if (when.has_error() || where.has_error()) return std::nullopt;
    schedule::occurrence_rule rule{*when, *where};
    if (text_in(what, "gap") == "skip") rule.policy.gap = gap_time::skip;
    if (text_in(what, "repeat") == "twice") rule.policy.repeat = repeated_time::twice;
    const auto how = text_in(what, "misfire") == "skip" ? misfire::skip : misfire::run_once;
    rule.lateness_max =
        schedule::lateness_of(how, duration_in(what, "misfire_window", rule.lateness_max)) +
        duration_in(what, "jitter", millis{0});
    return rule;
}

}  // namespace

job_terms::job_terms(const job_entry& job)
    : definition{definition_of(job)},
      name{job.name},
      // A row says what it likes, and each partition costs memory.
      partitions{std::clamp(job.partitions, std::uint32_t{1}, partitions_max)},
      has_slots{partitions > 1 && number_in(definition, "slots") > 1},
      takes_in_order{text_in(definition, "overlap") == "queue" ||
                     text_in(definition, name_in(definition, "delivery", "occurrence")) ==
                         "at-least-once"},
      // A program's job has its name as its key, so that locks.run excludes it.
      key_prefix{definition.contains("body") ? "" : base::job_key_prefix},
      enabled{flag_in(definition, "enabled", true)},
      arguments{arguments_in(definition)},
      remembers{text_in(definition, name_in(definition, "delivery", "occurrence")) != "off"},
      hold_until_expiry{
          flag_in(definition, name_in(definition, "hold_until_expiry", "hold"), false)},
      ttl{duration_in(definition, "ttl", millis{30'000})},
      min_hold{duration_in(definition, name_in(definition, "min_hold", "at_least"), millis{0})},
      jitter{duration_in(definition, "jitter", millis{0})} {
    if (enabled) rule = rule_of(job, definition);
}

std::string job_terms::key(std::uint32_t partition) const {
    const auto key = key_prefix + name;
    return partitions == 1 ? key : key + "/" + std::to_string(partition);
}

std::vector<std::int64_t> job_terms::occurrences_after(std::int64_t from, std::size_t count) const {
    std::vector<std::int64_t> found;
    if (!rule) return found;
    auto after = time::wall_instant{millis{from}};
    while (found.size() < count) {
        const auto next = rule->when.next(after, rule->where, rule->policy);
        if (!next) break;
        found.push_back(std::chrono::floor<millis>(*next).time_since_epoch().count());
        after = *next;
    }
    return found;
}

std::string unknown_job(std::string_view name, const std::vector<std::string_view>& names,
                        std::string_view otherwise) {
    const auto meant = base::nearest(name, names);
    return "no agent has published a job '" + base::printable(name) + "': " +
           (meant ? "did you mean '" + base::printable(*meant) + "'?" : std::string{otherwise});
}

std::string words_of_request(checkpoint_source past, const std::vector<std::string>& arguments) {
    std::string words = past == checkpoint_source::last_saved ? "resume" : "";
    if (arguments.empty()) return words;
    return words + (words.empty() ? "" : ", ") + "arguments " + base::quoted_words(arguments);
}

std::string words_of_queued(const queued_count& count, std::string words) {
    std::string first;
    if (count.queued < count.wanted)
        first = "only " + std::to_string(count.queued) + " of " + std::to_string(count.wanted) +
                " partitions";
    if (!count.is_last_sure)
        first += std::string{first.empty() ? "" : " "} +
                 (count.wanted > 1 ? "(whether the last was queued is not known)"
                                   : "(whether it was queued is not known)");
    if (first.empty()) return words;
    return words.empty() ? first : first + ": " + words;
}

json::object dry_run_of(const job_terms& job, const std::vector<std::string>& arguments,
                        std::size_t live_nodes, const std::vector<planned_run>& runs) {
    const auto* told = job.definition.if_contains("command");
    auto command = told != nullptr && told->is_array() ? told->as_array() : json::array{};
    for (const auto& one : arguments) command.emplace_back(one);
    json::array all;
    for (const auto& one : runs) {
        const bool held = one.lease && one.lease->remaining.count() > 0;
        json::object shown;
        shown["key"] = job.key(one.partition);
        shown["partition"] = one.partition;
        shown["lease"] = nullptr;
        if (held) shown["lease"] = json_of(*one.lease);
        shown["checkpoint"] = one.checkpoint;
        all.push_back(std::move(shown));
    }
    json::object made;
    made["dry_run"] = true;
    made["job"] = job.name;
    made["command"] = std::move(command);
    made["definition"] = job.definition;
    made["live_nodes"] = live_nodes;
    made["runs"] = std::move(all);
    return made;
}

bool has_saved(const job_terms& job, const run_record& run) {
    return !run.checkpoint.empty() && run.partition < job.partitions;
}

std::uint32_t choose_slot(const job_terms& job, const slot_inputs& now) {
    if (now.saved) return *now.saved;
    std::vector<std::size_t> wanted(job.partitions, 0);
    for (const auto& one : now.queued)
        if (one.job == job.name) ++wanted[one.partition % job.partitions];
    for (std::size_t i = 0; i < std::min(now.taken.size(), wanted.size()); ++i)
        if (now.taken[i]) ++wanted[i];
    // Where none is free, the one that the fewest wait for.
    return static_cast<std::uint32_t>(std::min_element(wanted.begin(), wanted.end()) -
                                      wanted.begin());
}

std::string last_checkpoint(const std::vector<run_record>& newest_first, std::uint32_t partition) {
    for (const auto& one : newest_first)
        if (one.partition == partition && !one.checkpoint.empty()) return one.checkpoint;
    return "";
}

bool is_live(const node_entry& node) {
    return node.age <= schedule::node_heartbeat_timeout && !node.draining;
}

std::size_t count_live(const std::vector<node_entry>& nodes) {
    return static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), is_live));
}

}  // namespace pawl::documents
