// Looks for a seed that breaks a law of schedules where jobs have slots.
#include "test_support/simulation/schedule/simulation.hpp"
#include "test_support/simulation/search.hpp"

int main(int count, char** words) {
    using namespace pawl::simulation::schedules;
    return pawl::simulation::search<law>(count, words, laws,
                                         [](std::uint64_t seed) { return simulate_slots(seed); });
}
