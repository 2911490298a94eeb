// What an occurrence costs with few nodes and with many, and what it costs where the first in line
// is not there.
#include "test_support/simulation/schedule/cost.hpp"
#include "schedule/queue/load_estimate.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace pawl::simulation::schedules {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A request takes 40 ms at most, there and back, and an acquire and the row of a beginning are two.
constexpr nanos begins_within = milliseconds{90};
// What each node asks the store in a second beside: one look, and now and then for its duty to look
// after the runs of others.
constexpr double looks_of_a_node = 1.5;

// The arithmetic that operators plan by is that of whole nodes.
void expect_as_estimated(const cost& found, const cost_case& what) {
    schedule::fleet planned;
    planned.agents = what.nodes;
    planned.jobs = what.jobs;
    planned.every = seconds{1};
    planned.run = milliseconds{60};
    const auto estimated = schedule::load_of(planned);
    EXPECT_NEAR(found.store, estimated.store() / estimated.occurrences, 0.15 * found.store);
    EXPECT_NEAR(found.journal, estimated.journal() / estimated.occurrences, 0.2 * found.journal);
}

cost measured(const char* name, const cost_case& what) {
    const auto found = measure_cost(what);
    std::printf(
        "%-28s %5zu nodes %6zu jobs %7zu runs: store %6.2f journal %6.2f an occurrence; "
        "late p50 %5.0f p99 %5.0f max %5.0f ms\n",
        name, what.nodes, what.jobs, found.occurrences, found.store, found.journal,
        of_ms(found.late_median), of_ms(found.late_p99), of_ms(found.late_most));
    EXPECT_FALSE(found.breach) << *found.breach;
    return found;
}

class ScheduleCost : public testing::TestWithParam<std::size_t> {};

// Goal: an occurrence costs an acquire and a release, however many nodes there are. Method: twenty
// jobs a second; what each node does on its own account is a constant for each second.
TEST_P(ScheduleCost, IsTheSameForAnyNumberOfNodes) {
    cost_case what;
    what.nodes = GetParam();
    what.measured = what.nodes < 100 ? seconds{20} : seconds{4};
    const auto found = measured("at most once", what);
    const auto beside =
        looks_of_a_node * static_cast<double>(what.nodes) / static_cast<double>(what.jobs);
    EXPECT_GE(found.store, 2);
    EXPECT_LE(found.store, 2.2 + beside);
    EXPECT_LE(found.late_p99, begins_within);
    expect_as_estimated(found, what);
}
INSTANTIATE_TEST_SUITE_P(Simulation, ScheduleCost, testing::Values(1, 3, 10, 30, 300),
                         testing::PrintToStringParamName());

// The same where an occurrence counts as done when its run has ended, and where it waits in line.
TEST(ScheduleCosts, AtLeastOnceCostsTheSame) {
    cost_case what;
    what.nodes = 30;
    what.rules.delivery = delivery::at_least_once;
    EXPECT_LE(measured("at least once", what).store, 2.2 + looks_of_a_node * 30 / 20);
    what.rules.when_running = overlap::queue;
    EXPECT_LE(measured("at least once, in line", what).store, 2.2 + looks_of_a_node * 30 / 20);
}

// Nodes that have the same jobs find each other among those that have others.
TEST(ScheduleCosts, TeamsInOneNamespaceCostTheSame) {
    cost_case what;
    what.nodes = 30;
    what.groups = 3;
    what.jobs = 60;
    what.checks_calendar = true;
    const auto found = measured("three teams", what);
    EXPECT_EQ(found.occurrences, 60U * 20U);
    EXPECT_GE(found.checked, found.occurrences);
    EXPECT_LE(found.store, 2.2 + looks_of_a_node * 30 / 60);
    EXPECT_LE(found.late_p99, begins_within);
}

// A first node that is dead or frozen costs the hold-back of the next, and never the occurrence.
TEST(ScheduleCosts, AFirstNodeThatIsAwayCostsTheHoldBackOfTheNext) {
    for (const auto hurt : {misfortune::killed, misfortune::frozen}) {
        cost_case what;
        what.nodes = 10;
        what.hurt = hurt;
        what.measured = seconds{60};
        const auto found = measured(hurt == misfortune::killed ? "killed" : "frozen", what);
        // A look is one more request, and one that has begun may have been killed in the middle.
        EXPECT_LE(found.late_most, milliseconds{300} + milliseconds{40} + begins_within);
        EXPECT_LE(found.late_median, begins_within);
        // All of them, but for what was being run as its node was killed.
        EXPECT_GE(found.occurrences, 60U * 20U - 8U);
    }
}

// A registry that is wrong costs requests and moments, and no law.
TEST(ScheduleCosts, AWrongRegistryCostsMoments) {
    for (const auto kind : {registry_kind::stale, registry_kind::strange, registry_kind::partial,
                            registry_kind::empty}) {
        cost_case what;
        what.nodes = 10;
        what.registry = kind;
        const auto found = measured(name_of(kind).data(), what);
        EXPECT_EQ(found.occurrences, 20U * 20U);
        EXPECT_LE(found.late_most, milliseconds{1'100} + milliseconds{40} + begins_within);
        // As without any: each asks, and looks who has it.
        EXPECT_LE(found.store, 2.2 + 2.0 * 10 + looks_of_a_node * 10 / 20);
    }
}

// PAWL_COST_NODES and PAWL_COST_JOBS: any size, printed.
TEST(ScheduleCosts, OfAnySize) {
    const char* nodes = std::getenv("PAWL_COST_NODES");
    const char* jobs = std::getenv("PAWL_COST_JOBS");
    cost_case what;
    what.nodes = nodes ? std::stoul(nodes) : 100;
    what.jobs = jobs ? std::stoul(jobs) : 50;
    what.measured = seconds{3};
    const auto found = measured("any size", what);
    const auto beside =
        looks_of_a_node * static_cast<double>(what.nodes) / static_cast<double>(what.jobs);
    EXPECT_LE(found.store, 2.2 + beside);
}

}  // namespace
}  // namespace pawl::simulation::schedules
