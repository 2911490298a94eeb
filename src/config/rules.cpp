#include "config/rules.hpp"

#include "base/duration.hpp"
#include "base/url.hpp"
#include "config/texts.hpp"
#include "config/values.hpp"

#include <pawl/types.hpp>

#include <algorithm>
#include <cmath>

namespace pawl::config {
namespace {

using base::format_duration;

// The journal's, of a published job; and what its fields take beside the texts that are counted.
constexpr std::size_t definition_bytes_max = std::size_t{64} * 1024;
constexpr std::size_t definition_bytes_beside = 2'048;

void check_times(const job_settings& job, const job_origins& where, findings& found) {
    if (job.timeout.count() > 0 && job.soft_timeout >= job.timeout)
        found.add_fault(where.of("soft_timeout"),
                        "soft_timeout is " + format_duration(job.soft_timeout) +
                            ", but timeout is " + format_duration(job.timeout) +
                            "; the soft one comes first, so make it shorter");
    if (job.retries.backoff > job.retries.max_backoff)
        found.add_fault(where.of("retries.backoff"), "retries.backoff is " +
                                                         format_duration(job.retries.backoff) +
                                                         ", but retries.max_backoff is " +
                                                         format_duration(job.retries.max_backoff) +
                                                         "; raise the latter to it at least");
}

// Of the ttl: before it ends, each job has to be renewed once, or it would be told to stop.
double latest_renewal(const job_settings& job) {
    const auto ttl = static_cast<double>(job.ttl.count());
    const auto margin = std::max(ttl / 50, 5.0);
    const auto grace = std::min(static_cast<double>(job.grace.count()), ttl / 3);
    return (ttl * 0.999 - margin - grace) / ttl / 1.1;
}

void check_renewal(const job_settings& job, const job_origins& where, findings& found) {
    if (const auto latest = latest_renewal(job); job.renew_fraction >= latest)
        found.add_fault(where.of("renew_fraction"),
                        "renew_fraction is " + format_number(job.renew_fraction) +
                            ", but with a ttl of " + format_duration(job.ttl) + " and a grace of " +
                            format_duration(job.grace) +
                            " the command would be stopped before; stay below " +
                            format_number(std::floor(latest * 100) / 100) + ", or lower the grace");
    else if (job.renew_fraction > renew_fraction_warned)
        found.add_warning(where.of("renew_fraction"),
                          "renew_fraction is " + format_number(job.renew_fraction) +
                              ", which leaves little time for a second attempt: 0.3 leaves time "
                              "for three");
}

void check_lease(const job_settings& job, const job_origins& where, findings& found) {
    check_renewal(job, where, found);
    if (job.hold_until_expiry && job.min_hold > job.ttl)
        found.add_fault(where.of("min_hold"),
                        "min_hold is " + format_duration(job.min_hold) +
                            ", but with hold_until_expiry the lease ends after its ttl of " +
                            format_duration(job.ttl) +
                            "; raise the ttl, or drop hold_until_expiry");
    if (job.hold_until_expiry && job.partitions > 1)
        found.add_fault(
            where.of("hold_until_expiry"),
            "hold_until_expiry keeps a lease after its run, so partitions could not move to other "
            "nodes; drop hold_until_expiry, or partitions");
    if (job.hold_until_expiry && job.slots > 1)
        found.add_fault(where.of("hold_until_expiry"),
                        "hold_until_expiry keeps a lease after its run, so a slot would be taken "
                        "that nothing runs in; drop hold_until_expiry, or slots");
    if (job.slots > 1 && job.partitions > 1)
        found.add_fault(
            where.of("slots"),
            "slots limits concurrent runs, and partitions splits each run into several; "
            "drop one of the two");
}

// As a text of JSON, in quotes and with what stands behind it.
std::size_t bytes_as_json(std::string_view text) {
    std::size_t bytes = 3;
    for (const char each : text) {
        const bool is_control = static_cast<unsigned char>(each) < 0x20;
        const bool is_short = each == '\n' || each == '\t' || each == '\r' || each == '\b' ||
                              each == '\f' || each == '"' || each == '\\';
        bytes += is_short ? 2 : is_control ? 6 : 1;
    }
    return bytes;
}

void warn_of_job(const job_settings& job, const job_origins& where, findings& found) {
    if (where.is_own("grace") && job.grace > job.ttl / 3)
        found.add_warning(where.of("grace"),
                          "grace is " + format_duration(job.grace) +
                              ", but a command whose lease is lost gets a third of the ttl at "
                              "most, which is " +
                              format_duration(job.ttl / 3) +
                              "; raise the ttl if it needs more to stop");
    // With overlap = "queue" it bounds how long an occurrence waits for the run before it.
    if (where.is_own("misfire_window") && job.misfire == misfire::skip &&
        job.overlap == overlap::skip)
        found.add_warning(where.of("misfire_window"),
                          "misfire_window does nothing with misfire = \"skip\"");
    if (where.is_own("max_concurrent_runs") && job.max_concurrent_runs > job.key_count())
        found.add_warning(
            where.of("max_concurrent_runs"),
            std::string{"max_concurrent_runs is more than the "} +
                (job.slots > 1 ? "slots that there are" : "partitions that could run"));
}

}  // namespace

place job_origins::of(std::string_view key) const {
    if (const auto found = own.find(key); found != own.end()) return found->second;
    if (const auto found = defaults.find(key); found != defaults.end()) return found->second;
    return table;
}

void check_job(const job_settings& job, const job_origins& where, findings& found) {
    check_times(job, where, found);
    check_lease(job, where, found);
    warn_of_job(job, where, found);
}

void name_for_node(job_settings& job, const std::string& node, const job_origins& where,
                   findings& found) {
    if (job.lease_is_shared || job.name.empty()) return;
    if (job.partitions > 1)
        found.add_fault(where.of("lease"),
                        "lease = false runs all of the job on each node, and partitions divide it "
                        "among them; drop one of the two");
    if (job.slots > 1)
        found.add_fault(where.of("lease"),
                        "lease = false runs the job on each node by itself, and slots bounds its "
                        "runs over all of them; drop one of the two");
    auto named = job.name + "@" + node;
    if (const auto bad = job_name_fault(named))
        found.add_fault(where.of("lease"), "lease = false makes the job " + quoted(named) +
                                               " on this node, which " + bad->what);
    job.name = std::move(named);
}

void check_published(const job_settings& job, const job_origins& where, findings& found) {
    std::size_t bytes = definition_bytes_beside;
    for (const auto* text : {&job.name, &job.description, &job.schedule.text,
                             &job.working_directory, &job.user, &job.group})
        bytes += bytes_as_json(*text);
    std::size_t of_command = 0;
    for (const auto& word : job.command) of_command += bytes_as_json(word);
    for (const auto& pattern : job.arguments.patterns) bytes += bytes_as_json(pattern);
    for (const auto& one : job.env) bytes += bytes_as_json(one.name);
    for (const auto& one : job.secrets) bytes += bytes_as_json(one.name);
    bytes += of_command;
    if (bytes <= definition_bytes_max) return;
    const auto at = where.of(of_command > bytes / 2 ? "command" : "name");
    found.add_fault(at, "the command, arguments, description and names of variables of the job " +
                            quoted(job.name) + " take " + std::to_string(bytes) +
                            " bytes in the journal; at most " +
                            std::to_string(definition_bytes_max) +
                            ": put a long script into a file");
}

void check_outage(const job_settings& job, const job_origins& where, std::string_view store,
                  findings& found) {
    if (job.on_store_down != outage::run_without_lease) return;
    const auto url = base::parse_store_url(store);
    const auto* safety = url.has_value() ? url->find("safety") : nullptr;
    if (safety == nullptr || *safety != "correctness") return;
    found.add_fault(where.of("on_store_down"),
                    "on_store_down = \"run\" runs without a lease, which the store's "
                    "safety=correctness forbids; write \"skip\", or take safety=efficiency");
}

void check_memory(const job_settings& job, const job_origins& where, std::string_view store,
                  findings& found) {
    const bool is_late_at_most_briefly =
        job.misfire == misfire::skip && job.overlap == overlap::skip;
    if (is_late_at_most_briefly || job.delivery == delivery::off) return;
    const auto url = base::parse_store_url(store);
    const auto* text = url.has_value() ? url->find("retention") : nullptr;
    const auto read = base::parse_duration(text == nullptr ? "" : *text);
    const auto retention = read.has_value() ? *read : retention_default;
    const auto longest = job.misfire_window + job.jitter;
    if (longest <= retention) return;
    const auto what =
        job.jitter.count() > 0 ? "misfire_window and jitter are together " : "misfire_window is ";
    found.add_fault(where.of("misfire_window"),
                    what + format_duration(longest) +
                        ", but the store forgets what has run after its retention of " +
                        format_duration(retention) +
                        ", and it would run again; lower it, or add retention=" +
                        format_duration(longest) + " to the store's URL");
}

void check_agent(const settings& values, const origins& agent_keys, findings& found) {
    for (const user_settings& one : values.users)
        if (!one.token_hash.empty() && !is_whole_token_hash(one.token_hash))
            found.add_warning(one.at, "the token_hash of " + quoted(one.name) +
                                          " is not whole, or costs too much, so it logs no one in; "
                                          "`pawl token new` prints a new one");
    if (is_loopback(values.agent.listen)) return;
    const auto listen = agent_keys.find("listen");
    const place at = listen == agent_keys.end() ? place{} : listen->second;
    if (values.users.empty())
        found.add_fault(at, "listen opens " + quoted(values.agent.listen.host) +
                                " to other machines, but there is no [[user]]; add one, or listen "
                                "on 127.0.0.1");
    else if (!values.agent.tls)
        found.add_warning(at, "listen opens " + quoted(values.agent.listen.host) +
                                  " to other machines without tls, so tokens travel in clear text");
}

}  // namespace pawl::config
