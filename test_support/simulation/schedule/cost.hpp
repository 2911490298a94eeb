// What occurrences cost on virtual time: requests to the store and to the journal, and how late
// they begin, in a world where little goes wrong.
#pragma once

#include "test_support/simulation/schedule/plan.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace pawl::simulation::schedules {

// What becomes, at a full second and every few of them, of the node that is asked to run something.
enum class misfortune { none, killed, frozen };

struct cost_case {
    std::size_t nodes = 3;
    std::size_t groups = 1;  // of nodes; the jobs are dealt out to them in turn
    std::size_t jobs = 20;
    // Of each job by its number: a cron expression with seconds.
    std::function<std::string(std::size_t job)> when = [](std::size_t) { return "* * * * * *"; };
    schedule::queue_rules rules{};
    millis ttl{5'000};
    nanos run_least = std::chrono::milliseconds{20};
    nanos run_most = std::chrono::milliseconds{100};
    nanos measured = std::chrono::seconds{20};
    registry_kind registry = registry_kind::right;
    misfortune hurt = misfortune::none;
    // Holds all that came due, and not only what began, against the calendar.
    bool checks_calendar = false;
};

struct cost {
    std::size_t occurrences = 0;
    double store = 0;    // requests for an occurrence
    double journal = 0;  // the same
    nanos late_median{}, late_p99{}, late_most{};
    std::size_t checked = 0;            // occurrences, against the calendar
    std::optional<std::string> breach;  // of a law
};
cost measure_cost(const cost_case& what);

inline double of_ms(nanos some) { return std::chrono::duration<double, std::milli>(some).count(); }

}  // namespace pawl::simulation::schedules
