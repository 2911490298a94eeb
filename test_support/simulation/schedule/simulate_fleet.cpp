// A day, or as long as it is told, of a fleet: what its occurrences cost, how late they begin, and
// whether each of them ran.
//
//     simulate_fleet AGENTS GROUPS JOBS HOURS
//
// Each group of agents has jobs of its own, as a team has. Each job runs once an hour, from one
// second to twenty; they are spread over the seconds of the hour. Prints one line, and ends with 1
// when a law was broken.
#include "base/number.hpp"
#include "test_support/simulation/schedule/cost.hpp"

#include <chrono>
#include <cstdio>
#include <string>

namespace {

// The seconds of an hour in an order in which neighbours are far apart.
std::string once_an_hour(std::size_t job) {
    const auto at = job * 1'877 % 3'600;
    return std::to_string(at % 60) + " " + std::to_string(at / 60) + " * * * *";
}

}  // namespace

int main(int count, char** words) {
    std::size_t numbers[4]{};
    for (int i = 1; i <= 4; ++i) {
        const auto number =
            i < count ? pawl::base::parse_number<std::size_t>(words[i]) : std::nullopt;
        const bool is_idle = i == 2 && number && *number > numbers[0];
        if (count != 5 || !number || *number == 0 || is_idle) {
            std::fprintf(stderr,
                         "%s: give AGENTS GROUPS JOBS HOURS, each above 0, and no more groups than "
                         "agents\n",
                         words[0]);
            return 64;
        }
        numbers[i - 1] = *number;
    }
    const auto [agents, groups, jobs, hours] = numbers;
    using namespace pawl::simulation::schedules;
    cost_case what;
    what.nodes = agents;
    what.groups = groups;
    what.jobs = jobs;
    what.when = once_an_hour;
    what.ttl = std::chrono::seconds{30};
    what.run_least = std::chrono::seconds{1};
    what.run_most = std::chrono::seconds{20};
    what.measured = std::chrono::hours{hours};
    what.checks_calendar = true;
    const auto began = std::chrono::steady_clock::now();
    const auto found = measure_cost(what);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::printf(
        "%zu agents in %zu groups, %zu jobs, %zu h: %zu runs, %zu occurrences held against the "
        "calendar; store %.2f journal %.2f an occurrence; late p50 %.0f p99 %.0f max %.0f ms; "
        "%.0f s\n",
        agents, groups, jobs, hours, found.occurrences, found.checked, found.store, found.journal,
        of_ms(found.late_median), of_ms(found.late_p99), of_ms(found.late_most), took.count());
    if (!found.breach) return 0;
    std::printf("%s\n", found.breach->c_str());
    return 1;
}
