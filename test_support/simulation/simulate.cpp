// Looks for a seed that breaks a law of leases.
#include "test_support/simulation/search.hpp"
#include "test_support/simulation/simulation.hpp"

int main(int count, char** words) {
    using namespace pawl::simulation;
    return search<law>(count, words, laws, [](std::uint64_t seed) { return simulate(seed); });
}
