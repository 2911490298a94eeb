// No journal escapes the laws: each one that is built must have instantiated the suite.
#include "assembly/engines.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace pawl::conformance {
namespace {

std::set<std::string> words_of(const std::string& text) {
    std::istringstream words{text};
    return {std::istream_iterator<std::string>{words}, {}};
}

// The prefix that each instantiation of JournalLaws was given: the name of an engine, and where an
// engine has several modes, "ENGINE_MODE" for each but the plainest.
std::set<std::string> instantiated() {
    const std::string suite = "/JournalLaws/";
    const auto known = words_of(PAWL_JOURNALS_REGISTERED);
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

// Goal: a new journal cannot forget the suite. Method: compare what ran with what the build says
// there is: the engines that were registered, and the folders under src/journals that are built.
TEST(JournalCompleteness, EveryJournalIsHeldToTheLaws) {
    EXPECT_EQ(instantiated(), words_of(PAWL_JOURNALS_REGISTERED));
    EXPECT_EQ(instantiated(), words_of(PAWL_JOURNALS_IN_FOLDERS));
}

// Goal: whoever names a store gets its journal. Method: plan the URL of each engine, which opens
// nothing.
TEST(JournalCompleteness, EveryJournalIsReachedByAUrl) {
    const std::map<std::string, std::string> urls{{"memory", "memory:"},
                                                  {"sqlite", "sqlite:/tmp/pawl.db"},
                                                  {"redis", "redis://127.0.0.1"},
                                                  {"postgresql", "postgresql://127.0.0.1/pawl"},
                                                  {"mysql", "mysql://127.0.0.1/pawl"}};
    for (const auto& engine : words_of(PAWL_JOURNALS_REGISTERED)) {
        ASSERT_EQ(urls.count(engine), 1u) << engine;
        EXPECT_TRUE(assembly::plan_store(urls.at(engine)).make_journal) << engine;
    }
}

}  // namespace
}  // namespace pawl::conformance
