// What a schedule does in the cases that are not the ordinary one.
#pragma once

namespace pawl {

// An occurrence that was due while no node could run it.
enum class misfire {
    skip,     // it does not run, unless it is at most 10 s and misfire_window late
    run_once  // the latest one runs, if it is not later than misfire_window
};

// An occurrence whose predecessor still runs.
enum class overlap {
    skip,  // it does not run
    queue  // it waits for its turn, within misfire_window
};

// Local times that a spring transition leaves out.
enum class gap_time {
    end,  // what is due in the gap fires once, at the end of it
    skip  // it does not fire
};

// A fixed local time that an autumn transition passes twice. Intervals (a *, a range or a step in
// the hour or a finer field) fire in both passes under either policy.
enum class repeated_time {
    once,  // fires in the first pass
    twice  // fires in both
};

// An occurrence that is due while the store cannot be reached.
enum class outage {
    wait,              // it waits for the store, within misfire_window
    run_without_lease  // it runs on each node where it is due: perhaps more than once, and without
                       // a token
};

// How much a line of the log matters.
enum class log_level { debug, info, warn, error };

}  // namespace pawl
