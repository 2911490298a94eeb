// What it means that a run is over: how it ended, and what the store is told of its occurrence. One
// table for the command, the library and the agent; nothing here waits or asks anybody.
#pragma once

#include <pawl/lease.hpp>
#include <pawl/spi/journal.hpp>
#include <pawl/types.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace pawl::runs {

// Why work is told to stop.
enum class stop_cause { cancelled, timed_out, lost, shutdown };

// What ended the work, where it was not told to stop.
enum class work_ending {
    by_itself,
    deadline,   // that of its lease: its guard ran ahead of what watches the lease
    guard_lost  // killed, and the work with it
};

// What became of the work, as it says itself. No aggregate: it is moved through co_await
// (docs/style.md, 9).
struct work_result {
    work_result() = default;

    bool succeeded = false;
    bool started = true;  // nothing of the work has been done where this is false
    work_ending ending = work_ending::by_itself;
    std::optional<int> exit_status;  // nothing: it has none, or never began
    std::string reason;              // one line for people: "exit 3", "killed by SIGSEGV"
};

// What a failure makes of an at-least-once occurrence.
enum class failing {
    settles,  // the node that runs it has tried as often as it was told to
    reopens   // it counts as done when it succeeds: another node takes it up
};

struct run_context {
    bool is_at_least_once = false;  // and an occurrence, not a manual run
    bool has_worked = false;        // an attempt before this one has begun its work
    bool has_lease = true;
    bool trusted = true;  // the lease was when the work had ended; where there is none too
    std::optional<loss_reason> loss;  // as the lease tells it
    std::optional<stop_cause> cause;  // what the work was told, if it was told to stop
    failing failed = failing::settles;
    std::string_view shutdown = "the node was shut down";  // who told it to stop, for people
};

run_end judge(const work_result& what, const run_context& under);

enum class settlement {
    done,         // no other node is to run the occurrence
    not_started,  // nothing of it has been done: it is given back
    open          // as it is: at least once, another node resumes it
};

// `written`: the journal has its end. A skipped row that is written later would end the run of
// the node that claims the occurrence next, so that it is given back only then. What others have
// made of the row says nothing of work that ended under its lease: the store goes by its token.
settlement settle(run_status how, bool written);
// For the release of the lease.
void tell(lease& held, settlement what);

// Whether the journal lets the run begin.
bool may_begin(const begin_result& begun) noexcept;

// What receivers of repeated work tell the occurrence by; a run that nothing fired, by its own id.
std::string idempotency_key(const run_start& start, const begin_result& begun);

}  // namespace pawl::runs
