// A journal that fails when told to, around one that works: for tests of what writes runs down.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/spi/journal.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

namespace pawl::testing_faults {

// Thread-safe; changed by the test while the journal is in use.
struct journal_plan {
    std::atomic<std::optional<errc>> fail_all{};  // every verb fails so, without having any effect
    std::atomic<std::optional<errc>> fail_publish{};  // what the jobs are is not taken
    std::atomic<std::optional<errc>>
        fail_control_state{};           // the control state alone cannot be read
    std::atomic<millis> begin_delay{};  // a beginning takes effect at once, and is told so late
    std::atomic<millis> audit_delay{};  // a page of the audit is told so late
    std::atomic<millis> prune_delay{};  // old runs are removed so late
    std::atomic<millis> reject_output_after{};  // the next chunk is rejected, so late
    std::atomic<int> answers_to_lose{0};  // the next so many verbs of runs take effect, but say
                                          // outcome_unknown
    std::atomic<int> changes_to_lose{0};  // the same of pauses, resumptions, triggers and
                                          // cancellations
    std::atomic<int> audits_to_lose{0};   // the same of entries of the audit
    std::atomic<bool> heartbeats_lost{false};   // they have no effect, and nobody is told
    std::atomic<int> find_jobs_to_fail{0};      // the next so many questions for one job fail
    std::atomic<int> retires_to_fail{0};        // the next so many have no effect
    std::atomic<int> pages_before_the_last{0};  // the next so many of runs that ended in one way
                                                // are not the last, however few they tell
    std::atomic<millis>
        jobs_older_by{};                // the occurrences of all jobs are due since so long before
    std::atomic<int> control_reads{0};  // how often the control state was asked for
    std::atomic<int> occurrence_reads{0};  // how often the row of an occurrence was
    std::atomic<int> audits{0};            // how often an entry of the audit was told
    std::atomic<int> publications{0};      // how often the jobs were told
    std::atomic<int> prunes{0};            // how often old runs were to be removed
    // Called on the loop by whoever asks or tells that, before it is done. Set before the journal
    // is used.
    std::function<void()> on_control_read{};
    std::function<void()> on_begin{};
    std::function<void()> on_begun{};  // it has taken effect, and is not told yet
    std::function<void()> on_publication{};
    std::function<void()> on_output{};
    std::function<void()> on_runs_read{};   // a page of runs has been read
    std::function<void()> on_stale_read{};  // they were read, and are not told yet
    std::atomic<int> turns_late{0};  // of what reads or asks, the answer is told so many turns of
                                     // the loop after it is there
    std::atomic<int> operations{0};  // how many verbs have been called
};

std::shared_ptr<journal> make_faulty_journal(std::shared_ptr<journal> inner,
                                             std::shared_ptr<journal_plan> faults);

}  // namespace pawl::testing_faults
