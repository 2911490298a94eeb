// From a program's job and its schedule to what the dispatcher runs.
#include "base/text.hpp"
#include "runtime/checks.hpp"
#include "schedule/scheduling.hpp"

#include <pawl/leader.hpp>
#include <pawl/partition.hpp>
#include <pawl/slot.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <utility>

namespace pawl::schedule {
namespace {

constexpr millis day = std::chrono::hours{24};
constexpr millis year = day * 365;
constexpr int retries_max = 1000;

[[noreturn]] void reject(const std::string& job, const std::string& why) {
    throw option_error{"job '" + base::printable(job) + "': " + why};
}

void check_length(const std::string& job, const char* option, millis given, millis longest) {
    if (given.count() < 0 || given > longest)
        reject(job, std::string{option} + " is " + std::to_string(given.count()) +
                        " ms; expected 0 to " + base::format_duration(longest));
}

// An enumerator that a cast made, which nothing expects.
template <class Choice>
void check_choice(const std::string& job, const char* option, Choice given, Choice last) {
    if (given < Choice{} || given > last)
        reject(job, std::string{option} + " " + std::to_string(static_cast<int>(given)) +
                        " is not an enumerator; expected one of <pawl/policies.hpp> or "
                        "<pawl/types.hpp>");
}

void check_choices(const std::string& job, const schedule_options& when) {
    check_choice(job, "misfire", when.misfire, misfire::run_once);
    check_choice(job, "overlap", when.overlap, overlap::queue);
    check_choice(job, "gap", when.gap, gap_time::skip);
    check_choice(job, "repeat", when.repeat, repeated_time::twice);
    check_choice(job, "on_store_down", when.on_store_down, outage::run_without_lease);
    if (when.delivery) check_choice(job, "delivery", *when.delivery, delivery::off);
}

void check_retries(const std::string& job, const retry_options& what) {
    if (what.max < 0 || what.max > retries_max)
        reject(job, "retries.max is " + std::to_string(what.max) + "; expected 0 to 1000");
    check_length(job, "retries.backoff", what.backoff, day);
    check_length(job, "retries.max_backoff", what.max_backoff, day);
    if (what.backoff > what.max_backoff)
        reject(job,
               "retries.backoff is longer than retries.max_backoff: lower one, or raise the "
               "other");
    if (!(what.factor >= 1.0 && what.factor <= 100.0))
        reject(job, "retries.factor is " + std::to_string(what.factor) + "; expected 1 to 100");
}

void check_options(const std::string& job, const lease_options& lease,
                   const schedule_options& when) {
    check_choices(job, when);
    if (const auto bad = leadership_fault(lease)) reject(job, *bad);
    if (lease.hold_until_expiry && when.partitions > 1)
        reject(job,
               "hold_until_expiry keeps a lease after its run, so partitions could not move to "
               "other processes; drop hold_until_expiry, or partitions");
    if (when.partitions < 1 || when.partitions > partitions_max)
        reject(job, "partitions is " + std::to_string(when.partitions) + "; expected 1 to " +
                        std::to_string(partitions_max));
    if (when.slots < 1 || when.slots > slots_max)
        reject(job, "slots is " + std::to_string(when.slots) + "; expected 1 to " +
                        std::to_string(slots_max));
    if (when.slots > 1 && when.partitions > 1)
        reject(
            job,
            "slots limits concurrent runs, and partitions splits each run into several; drop one "
            "of the two");
    if (when.slots > 1 && lease.hold_until_expiry)
        reject(job,
               "hold_until_expiry keeps a lease after its run, so a slot would be taken that "
               "nothing runs in; drop hold_until_expiry, or slots");
    check_length(job, "misfire_window", when.misfire_window, year);
    check_length(job, "jitter", when.jitter, day);
    check_length(job, "soft_timeout", when.soft_timeout, year);
    check_length(job, "timeout", when.timeout, year);
    if (when.timeout.count() > 0 && when.soft_timeout >= when.timeout)
        reject(job, "soft_timeout is not below timeout: lower it, or leave it out");
    check_retries(job, when.retries);
    if (when.keep_runs < 1) reject(job, "keep_runs is 0; expected 1 or more");
}

// More than one with partitions or with slots.
std::uint32_t keys_of(const schedule_options& when) {
    return when.slots > 1 ? when.slots : when.partitions;
}

void check_lease(const std::string& job, const lease_options& lease, const schedule_options& when,
                 const runtime::engine& store) {
    if (job.size() > job_name_bytes_max)
        reject(job.substr(0, 40) + "…",
               "a name has at most 500 bytes, because its keys are "
               "NAME/PARTITION");
    const auto keys = keys_of(when);
    const auto longest = keys == 1 ? job : job + "/" + std::to_string(keys - 1);
    runtime::check_claim(store, longest, lease, wait_policy{});
    const auto kept = store.settings().retention;
    const bool remembers = !when.cron.empty() && when.delivery != delivery::off;
    const auto late = lateness_of(when.misfire, when.misfire_window) + when.jitter;
    if (remembers && late > kept)
        reject(job, (when.jitter.count() > 0 ? "misfire_window and jitter are together "
                                             : "misfire_window is ") +
                        base::format_duration(late) +
                        ", but the store forgets what has run after its retention of " +
                        base::format_duration(kept) +
                        ": lower it, or open the store with a longer retention");
    if (when.on_store_down == pawl::outage::run_without_lease &&
        store.settings().safety == safety_class::correctness)
        reject(job,
               "on_store_down = run_without_lease is what the store's safety=correctness "
               "forbids: take wait, or safety=efficiency");
}

std::optional<occurrence_rule> rule_of(const std::string& job, const schedule_options& when) {
    if (when.cron.empty()) return std::nullopt;
    const auto where = time::zone::find(when.zone);
    if (where.has_error()) reject(job, "zone: " + where.error().what);
    const auto parsed = time::cron::parse(when.cron);
    if (parsed.has_error())
        reject(job, "cron '" + base::printable(when.cron) + "' is wrong at column " +
                        std::to_string(parsed.error().column + 1) + ": " + parsed.error().what);
    occurrence_rule rule{*parsed, *where};
    rule.policy.gap = when.gap;
    rule.policy.repeat = when.repeat;
    rule.lateness_max = lateness_of(when.misfire, when.misfire_window) + when.jitter;
    return rule;
}

queue_rules queue_rules_of(const lease_options& lease, const schedule_options& when) {
    queue_rules rules;
    rules.when_running = when.overlap;
    rules.delivery = when.delivery.value_or(lease.delivery);
    // What is queued in time may wait for the whole window.
    const auto how = when.overlap == pawl::overlap::queue ? misfire::run_once : when.misfire;
    rules.lateness_max = lateness_of(how, when.misfire_window);
    rules.hold_until_expiry = lease.hold_until_expiry;
    return rules;
}

job_entry entry_of(const job_plan& plan, const schedule_options& when, const std::string& node) {
    constexpr std::string_view modes[]{"at-most-once", "at-least-once", "off"};
    boost::json::object what;
    what["name"] = plan.name;
    what["schedule"] = when.cron;
    what["zone"] = when.zone;
    what["body"] = "a function of the program";
    what["ttl"] = base::format_duration(plan.lease.ttl);
    what["delivery"] = modes[static_cast<std::size_t>(plan.queue.delivery)];
    what["misfire"] = when.misfire == pawl::misfire::skip ? "skip" : "run-once";
    what["overlap"] = when.overlap == pawl::overlap::skip ? "skip" : "queue";
    what["partitions"] = when.partitions;
    what["slots"] = when.slots;
    job_entry entry;
    entry.name = plan.name;
    entry.schedule = when.cron;
    entry.zone = when.zone;
    entry.partitions = keys_of(when);
    entry.definition = boost::json::serialize(what);
    entry.node = node;
    return entry;
}

}  // namespace

std::shared_ptr<const job_plan> plan_of(const pawl::job& what, const schedule_options& when,
                                        const std::string& node, const runtime::engine& store,
                                        std::shared_ptr<const function_context> around) {
    if (!what.body) throw option_error{"the job '" + what.name + "' has no body"};
    check_options(what.name, what.lease, when);
    check_lease(what.name, what.lease, when, store);
    auto plan = std::make_shared<job_plan>();
    plan->name = what.name;
    // The key is the name, so that locks::run and a scheduler exclude each other.
    plan->key_prefix.clear();
    plan->when = rule_of(what.name, when);
    plan->queue = queue_rules_of(what.lease, when);
    plan->lease = what.lease;
    plan->jitter = when.jitter;
    plan->retry.max = when.retries.max;
    plan->retry.backoff = when.retries.backoff;
    plan->retry.factor = when.retries.factor;
    plan->retry.max_backoff = when.retries.max_backoff;
    plan->soft_timeout = when.soft_timeout;
    plan->timeout = when.timeout;
    plan->grace = what.lease.grace;
    plan->partitions = keys_of(when);
    plan->has_slots = when.slots > 1;
    plan->runs_max =
        static_cast<std::uint32_t>(std::min<std::size_t>(when.max_concurrent_runs, partitions_max));
    plan->on_store_down = when.on_store_down;
    plan->output_limit = 0;
    plan->keep_runs = when.keep_runs;
    plan->entry = entry_of(*plan, when, node);
    plan->make = function_bodies(std::move(around), std::make_shared<const pawl::job>(what));
    return plan;
}

}  // namespace pawl::schedule
