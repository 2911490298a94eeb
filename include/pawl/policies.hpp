// What becomes of a scheduled occurrence in the cases that are not the ordinary one.
#pragma once

namespace pawl {

// An occurrence that was due while no node could run it.
enum class misfire {
    skip,     // it does not run
    run_once  // the latest one runs, if it is not later than misfire_window
};

// An occurrence whose predecessor still runs.
enum class overlap {
    skip,  // it does not run
    queue  // it waits for its turn, within misfire_window
};

// Local times that a spring transition leaves out.
enum class gap_time {
    end,  // whatever fires in the gap fires once, at the end of it
    skip  // does not fire
};

// A fixed local time that an autumn transition passes twice. Intervals (a *, a range or a step in
// the hour or a finer field) fire in both passes under either policy.
enum class repeated_time {
    once,  // fires in the first pass
    twice  // fires in both
};

// An occurrence that is due while the store cannot be reached.
enum class outage {
    skip,              // it waits for the store, within misfire_window
    run_without_lease  // it runs wherever it is due: maybe more than once, and without a token
};

// Whether, and from when on, an occurrence counts as done.
enum class occurrence_mode {
    at_most_once,   // when it is granted: a crash loses it
    at_least_once,  // when its body has returned: after a crash it runs again
    off             // occurrences are not remembered: the lease alone excludes
};

// How much a line for the log matters.
enum class log_level { debug, info, warn, error };

}  // namespace pawl
