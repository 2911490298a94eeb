// No engine escapes the laws: each one that is built must have instantiated the suite.
#include "assembly/engines.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace pawl::conformance {
namespace {

std::set<std::string> words_of(const std::string& text) {
    std::istringstream words{text};
    return {std::istream_iterator<std::string>{words}, {}};
}

// The prefix that each instantiation of StoreLaws was given: the name of an engine, and where an
// engine has several modes, "ENGINE_MODE" for each but the plainest.
std::set<std::string> instantiated() {
    const std::string suite = "/StoreLaws/";
    const auto known = words_of(PAWL_ENGINES_REGISTERED);
    std::set<std::string> engines;
    const auto& all = *testing::UnitTest::GetInstance();
    for (int i = 0; i < all.total_test_suite_count(); ++i) {
        const std::string name = all.GetTestSuite(i)->name();
        const auto end = name.find(suite);
        if (end == std::string::npos) continue;
        const auto prefix = name.substr(0, end);
        const auto engine = prefix.substr(0, prefix.find('_'));
        engines.insert(known.count(engine) == 1 ? engine : prefix);
    }
    return engines;
}

// The engines that a URL can reach in this build.
std::set<std::string> assembled() {
    std::set<std::string> engines;
    for (const auto& engine : assembly::known_engines())
        if (engine.built_in) engines.emplace(engine.name);
    return engines;
}

// Goal: a new engine cannot forget the suite. Method: compare what ran with what the build says
// there is: the engines that were registered, the folders under src/stores that were built, and
// those that users can name.
TEST(Completeness, EveryEngineIsHeldToTheLaws) {
    EXPECT_EQ(instantiated(), words_of(PAWL_ENGINES_REGISTERED));
    EXPECT_EQ(instantiated(), words_of(PAWL_ENGINES_IN_FOLDERS));
    EXPECT_EQ(instantiated(), assembled());
}

}  // namespace
}  // namespace pawl::conformance
