// Looks for a seed that breaks a law of schedules.
#include "testing/simulation/schedule/simulation.hpp"
#include "testing/simulation/search.hpp"

int main(int count, char** words) {
    using namespace pawl::simulation::schedules;
    return pawl::simulation::search<law>(count, words, laws,
                                         [](std::uint64_t seed) { return simulate(seed); });
}
