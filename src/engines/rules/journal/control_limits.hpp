// How much users may leave in the control state, of which a node reads control_entries_max of each
// kind at a look.
//
// A job whose pause a node does not read runs on. So a pause looks first, and the last ones are
// rejected in one line; the rest of the room is for those made at the same moment. A run that is
// requested waits where it is not read. Of more than a look shows, each job's oldest are read first
// (fair_order), so a request is rejected only to a job that has runs waiting already, or wants
// many.
//
// Every node reads the arguments of all queued runs each second. So they have a bound together, and
// one job has a quarter of it.
#pragma once

#include "engines/rules/journal/texts.hpp"

#include <pawl/spi/journal.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::journals {

constexpr std::size_t pauses_max = control_entries_max - 100;

// Why the job cannot be paused where this is the control state; nothing: it can.
inline std::optional<std::string> pause_fault(const control_state& seen, std::string_view job) {
    const bool is_paused = std::any_of(seen.pauses.begin(), seen.pauses.end(),
                                       [&](const job_pause& one) { return one.job == job; });
    if (is_paused || seen.pauses.size() < pauses_max) return std::nullopt;
    return std::to_string(seen.pauses.size()) + " jobs are paused, and at most " +
           std::to_string(pauses_max) +
           " can be: resume one, or stop the agents where everything has to stand still";
}

constexpr std::size_t queued_bytes_max = std::size_t{4} * 1024 * 1024;
constexpr std::size_t queued_bytes_of_job_max = std::size_t{1} * 1024 * 1024;

// Runs that are queued, or are to be.
struct queue_size {
    std::size_t runs = 0;
    std::size_t bytes = 0;  // of their arguments

    void add(const run_trigger& one) {
        ++runs;
        bytes += bytes_of(one.arguments);
    }
};

// Of the job, or of all.
inline queue_size queue_of(const control_state& seen, std::optional<std::string_view> job = {}) {
    queue_size found;
    for (const auto& one : seen.triggers)
        if (!job || one.job == *job) found.add(one);
    return found;
}

// Why no such runs of the job can be requested where so much is queued; nothing: they can.
inline std::optional<std::string> request_fault(const queue_size& all, const queue_size& of_job,
                                                const queue_size& wanted) {
    const auto cure = "cancel what is not wanted any more, or start agents";
    if (all.runs >= control_entries_max && (of_job.runs > 0 || wanted.runs > 1))
        return std::to_string(all.runs) + " runs or more are queued, " +
               std::to_string(of_job.runs) +
               " of them of this job: until there are fewer, a job can have one; " + cure;
    if (wanted.bytes == 0) return std::nullopt;
    const auto too_many = [&](const queue_size& queued, std::string_view whose, std::size_t most) {
        return "the arguments of queued runs of " + std::string{whose} + " have " +
               std::to_string(queued.bytes) + " bytes, and these " + std::to_string(wanted.bytes) +
               "; at most " + std::to_string(most) +
               " may wait: pass the name of a file, wait until some have begun, " + cure;
    };
    if (of_job.bytes + wanted.bytes > queued_bytes_of_job_max)
        return too_many(of_job, "this job", queued_bytes_of_job_max);
    if (all.bytes + wanted.bytes > queued_bytes_max)
        return too_many(all, "all jobs", queued_bytes_max);
    return std::nullopt;
}

}  // namespace pawl::journals
