// No engine escapes the laws: each one that is built must have instantiated the suite.
#include "test_support/conformance/completeness.hpp"
#include "assembly/engines.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace pawl::conformance {
namespace {

// The engines that a URL can reach in this build.
std::set<std::string> assembled() {
    std::set<std::string> engines;
    for (const auto& engine : assembly::known_engines())
        if (engine.linked_in) engines.emplace(engine.name);
    return engines;
}

// Goal: a new engine cannot forget the suite. Method: compare what ran with what the build says
// there is: the engines that were registered, the folders under src/engines that were built, and
// those that users can name.
TEST(Completeness, EveryEngineIsHeldToTheLaws) {
    const auto known = words_of(PAWL_ENGINES_REGISTERED);
    auto held = instantiated("StoreLaws", known);
    EXPECT_EQ(held, known);
    // Whose server cannot be made on this machine; tools/test names them.
    held.merge(words_of(PAWL_ENGINES_LEFT_OUT));
    EXPECT_EQ(held, words_of(PAWL_ENGINES_IN_FOLDERS));
    EXPECT_EQ(held, assembled());
}

}  // namespace
}  // namespace pawl::conformance
