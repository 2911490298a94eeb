// No journal escapes the laws: each one that is built must have instantiated the suite.
#include "test_support/conformance/completeness.hpp"
#include "assembly/engines.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace pawl::conformance {
namespace {

// Goal: a new journal cannot forget the suite. Method: compare what ran with what the build says
// there is: the engines that were registered, and the folders under src/engines that are built.
TEST(JournalCompleteness, EveryJournalIsHeldToTheLaws) {
    const auto known = words_of(PAWL_JOURNALS_REGISTERED);
    const auto held = instantiated("JournalLaws", known);
    EXPECT_EQ(held, known);
    EXPECT_EQ(held, words_of(PAWL_JOURNALS_IN_FOLDERS));
}

// Goal: whoever names a store gets its journal. Method: plan the URL of each engine, which opens
// nothing.
TEST(JournalCompleteness, EveryJournalIsReachedByAUrl) {
    const std::map<std::string, std::string> urls{{"memory", "memory:"},
                                                  {"sqlite", "sqlite:/tmp/pawl.db"},
                                                  {"redis", "redis://127.0.0.1"},
                                                  {"postgresql", "postgresql://127.0.0.1/pawl"},
                                                  {"mysql", "mysql://127.0.0.1/pawl"},
                                                  {"mongodb", "mongodb://127.0.0.1/pawl"},
                                                  {"dynamodb", "dynamodb://eu-central-1/pawl"}};
    for (const auto& engine : words_of(PAWL_JOURNALS_REGISTERED)) {
        ASSERT_EQ(urls.count(engine), 1u) << engine;
        EXPECT_TRUE(assembly::plan_store(urls.at(engine)).make_journal) << engine;
    }
}

}  // namespace
}  // namespace pawl::conformance
