// Looks for a seed that breaks a law of schedules.
#include "test_support/simulation/schedule/simulation.hpp"
#include "test_support/simulation/search.hpp"

int main(int count, char** words) {
    using namespace pawl::simulation::schedules;
    return pawl::simulation::search<law>(count, words, laws, [](std::uint64_t seed) {
        auto found = simulate(seed);
        if (found.breach)
            *found.breach += "\nafter the first " + std::to_string(faults_needed(seed, found)) +
                             " of its " + std::to_string(found.faults) + " faults";
        return found;
    });
}
