#include "agent/plans.hpp"

#include "base/duration.hpp"
#include "base/scaled.hpp"
#include "schedule/execution/begin_wait.hpp"

#include <boost/json.hpp>

#include <algorithm>

namespace pawl::agent {
namespace {

namespace json = boost::json;

constexpr std::string_view misfire_words[]{"skip", "run-once"};
constexpr std::string_view overlap_words[]{"skip", "queue"};
constexpr std::string_view delivery_words[]{"at-most-once", "at-least-once", "off"};
constexpr std::string_view outage_words[]{"skip", "run"};
constexpr std::string_view gap_words[]{"end", "skip"};
constexpr std::string_view repeat_words[]{"once", "twice"};

template <class Choice, std::size_t N>
std::string_view word_of(Choice choice, const std::string_view (&words)[N]) {
    return words[static_cast<std::size_t>(choice)];
}

json::array names_of(const config::job_settings& job) {
    json::array names;
    for (const auto& one : job.env) names.emplace_back(one.name);
    for (const auto& one : job.secrets) names.emplace_back(one.name);
    return names;
}

schedule::queue_rules queue_rules_of(const config::job_settings& job) {
    schedule::queue_rules rules;
    rules.when_running = job.overlap;
    rules.delivery = job.delivery;
    // What is queued in time may wait for the whole window.
    const auto how = job.overlap == overlap::queue ? misfire::run_once : job.misfire;
    rules.lateness_max = schedule::lateness_of(how, job.misfire_window);
    rules.hold_until_expiry = job.hold_until_expiry;
    return rules;
}

std::optional<schedule::occurrence_rule> rule_of(const config::job_settings& job) {
    if (!job.schedule.when) return std::nullopt;
    schedule::occurrence_rule rule{*job.schedule.when, job.zone, job.transitions()};
    rule.lateness_max = schedule::lateness_of(job.misfire, job.misfire_window) + job.jitter;
    return rule;
}

}  // namespace

json::object describe(const config::job_settings& job) {
    const auto text = [](millis length) { return base::format_duration(length); };
    json::object what;
    what["name"] = job.name;
    if (!job.description.empty()) what["description"] = job.description;
    what["enabled"] = job.enabled;
    what["schedule"] = job.schedule.text;
    what["zone"] = job.zone.name();
    json::array command;
    for (const auto& word : job.command) command.emplace_back(word);
    what["command"] = std::move(command);
    what["arguments"] = job.arguments.any;
    if (!job.arguments.patterns.empty())
        what["arguments"] =
            json::array(job.arguments.patterns.begin(), job.arguments.patterns.end());
    what["env"] = names_of(job);
    if (!job.working_directory.empty()) what["working_directory"] = job.working_directory;
    if (!job.user.empty()) what["user"] = job.user;
    if (!job.group.empty()) what["group"] = job.group;
    if (!job.lease_is_shared) what["lease"] = false;
    what["ttl"] = text(job.ttl);
    what["min_hold"] = text(job.min_hold);
    what["hold_until_expiry"] = job.hold_until_expiry;
    what["delivery"] = word_of(job.delivery, delivery_words);
    what["misfire"] = word_of(job.misfire, misfire_words);
    what["misfire_window"] = text(job.misfire_window);
    what["overlap"] = word_of(job.overlap, overlap_words);
    what["jitter"] = text(job.jitter);
    what["timeout"] = text(job.timeout);
    what["soft_timeout"] = text(job.soft_timeout);
    what["grace"] = text(job.grace);
    what["retries"] = {{"max", job.retries.max},
                       {"backoff", text(job.retries.backoff)},
                       {"factor", job.retries.factor},
                       {"max_backoff", text(job.retries.max_backoff)}};
    what["partitions"] = job.partitions;
    what["slots"] = job.slots;
    what["on_store_down"] = word_of(job.on_store_down, outage_words);
    what["output_limit"] = job.output_limit;
    what["keep_runs"] = job.keep_runs;
    what["gap"] = word_of(job.gap, gap_words);
    what["repeat"] = word_of(job.repeat, repeat_words);
    return what;
}

lease_options lease_of(const config::job_settings& job) {
    lease_options options;
    options.ttl = job.ttl;
    options.min_hold = job.min_hold;
    options.hold_until_expiry = job.hold_until_expiry;
    options.renew_fraction = job.renew_fraction;
    // A third of so late a renewal would be past the end: two more attempts fit in before it.
    if (job.renew_fraction >= 1.0 / 3)
        options.retry_period =
            std::max(millis{1}, base::scaled(job.ttl, (0.9 - 1.1 * job.renew_fraction) / 3));
    options.max_renew_failures = static_cast<int>(job.max_renew_failures);
    options.grace = job.grace;
    // A hung job must not keep its key for ever. With retries the time of all attempts is not
    // known. It counts from the grant, the timeout from the start.
    if (job.timeout.count() > 0 && job.retries.max == 0)
        options.max_lifetime = schedule::begin_wait_max + job.timeout + job.grace + job.ttl;
    return options;
}

std::vector<std::string> lease_faults(const config::settings& configured,
                                      const store_traits& traits, safety_class safety) {
    std::vector<std::string> all;
    for (const auto& job : configured.jobs)
        if (const auto bad = validate(lease_of(job), traits, safety))
            all.push_back("job '" + job.name + "': " + *bad);
    return all;
}

std::shared_ptr<const schedule::job_plan> plan_of(
    std::shared_ptr<const config::job_settings> job, const std::string& node,
    const std::shared_ptr<const command_context>& around) {
    auto plan = std::make_shared<schedule::job_plan>();
    plan->name = job->name;
    plan->when = rule_of(*job);
    plan->queue = queue_rules_of(*job);
    plan->lease = lease_of(*job);
    plan->jitter = job->jitter;
    plan->retry.max = static_cast<int>(job->retries.max);
    plan->retry.backoff = job->retries.backoff;
    plan->retry.factor = job->retries.factor;
    plan->retry.max_backoff = job->retries.max_backoff;
    plan->soft_timeout = job->soft_timeout;
    plan->timeout = job->timeout;
    plan->grace = job->grace;
    plan->partitions = static_cast<std::uint32_t>(job->key_count());
    plan->has_slots = job->slots > 1;
    plan->runs_max = static_cast<std::uint32_t>(job->max_concurrent_runs);
    if (job->on_store_down == outage::run_without_lease)
        plan->on_store_down = outage::run_without_lease;
    plan->output_limit = static_cast<std::uint64_t>(job->output_limit);
    plan->keep_runs = static_cast<std::size_t>(job->keep_runs);
    plan->enabled = job->enabled;
    plan->is_shared = job->lease_is_shared;
    plan->entry.name = job->name;
    plan->entry.schedule = job->schedule.text;
    plan->entry.zone = std::string{job->zone.name()};
    plan->entry.partitions = plan->partitions;
    plan->entry.definition = json::serialize(describe(*job));
    plan->entry.node = node;
    plan->make = command_bodies(around, std::move(job));
    return plan;
}

}  // namespace pawl::agent
