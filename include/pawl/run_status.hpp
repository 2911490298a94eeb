// Where a run stands: one word in the journal, in JSON and on the command line.
#pragma once

#include <optional>
#include <string_view>

namespace pawl {

// How a run stands.
enum class run_status {
    started,    // it runs, or its end is not known yet
    completed,  // the work was done
    failed,     // the work reported that it was not done, and no attempt is left
    cancelled,  // a user cancelled it, or the node shut down
    lost,       // its lease or its node was lost, and this occurrence will not run again
    timed_out,  // it was stopped because it took too long, and no attempt is left
    abandoned,  // its lease or its node was lost; at-least-once: another node is to resume it
    skipped     // it was due and did not run: the previous run was still active, or it was too late
};

// The word in JSON and in the database, such as "timed_out".
[[nodiscard]] std::string_view name_of(run_status status) noexcept;

// The status that a word names; nothing for any other word.
[[nodiscard]] std::optional<run_status> run_status_named(std::string_view word) noexcept;

// Whether the run has ended for good.
[[nodiscard]] constexpr bool is_finished(run_status status) noexcept {
    return status != run_status::started && status != run_status::abandoned;
}

}  // namespace pawl
