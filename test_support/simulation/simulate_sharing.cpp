// Looks for a seed that breaks a law of partitions.
#include "test_support/simulation/search.hpp"
#include "test_support/simulation/sharing_world.hpp"

int main(int count, char** words) {
    using namespace pawl::simulation;
    return search<sharing_law>(count, words, sharing_laws,
                               [](std::uint64_t seed) { return simulate_sharing(seed); });
}
