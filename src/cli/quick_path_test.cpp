#include "cli/quick_path.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace pawl::cli {
namespace {

using words = std::vector<const char*>;

// What the variables are in one test.
std::map<std::string, std::string> variables;

const char* variable(const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
}

class QuickPath : public testing::Test {
protected:
    QuickPath() { variables.clear(); }

    static bool takes(const words& given) { return takes_quick_path(given, variable); }
};

TEST_F(QuickPath, IsTakenForExecOnABuiltInStore) {
    EXPECT_TRUE(takes({"exec", "key", "--", "true"}));
    EXPECT_TRUE(takes({"exec", "--store", "sqlite:/tmp/x", "key", "--", "true"}));
    EXPECT_TRUE(takes({"exec", "--store=memory:", "key", "--", "true"}));
    EXPECT_TRUE(takes({"exec", "--journal", "none", "key", "--", "true"}));
    EXPECT_TRUE(takes({"--store", "memory:", "--journal=none", "exec", "key", "--", "true"}));
    variables = {{"PAWL_STORE", "sqlite:/tmp/x"}, {"PAWL_JOURNAL", ""}, {"PAWL_CONFIG", ""}};
    EXPECT_TRUE(takes({"exec", "key", "--", "true"}));
}

TEST_F(QuickPath, IsTakenForTheVersionAlone) {
    EXPECT_TRUE(takes({"--version"}));
    EXPECT_FALSE(takes({"--version", "--verbose"}));
    EXPECT_FALSE(takes({"--verbose", "--version"}));
}

TEST_F(QuickPath, IsNotTakenForOtherCommands) {
    EXPECT_FALSE(takes({}));
    EXPECT_FALSE(takes({"locks", "ls"}));
    EXPECT_FALSE(takes({"--json", "exec", "key", "--", "true"}));
    EXPECT_FALSE(takes({"--store", "exec", "locks", "ls"}));
    EXPECT_FALSE(takes({"--store", "memory:"}));
    EXPECT_FALSE(takes({"--", "exec", "key"}));
    EXPECT_FALSE(takes({"exe"}));
}

TEST_F(QuickPath, IsNotTakenForOtherStores) {
    EXPECT_FALSE(takes({"exec", "--store", "redis://127.0.0.1", "key", "--", "true"}));
    EXPECT_FALSE(takes({"exec", "key", "--store=redis://127.0.0.1", "--", "true"}));
    EXPECT_FALSE(takes({"exec", "key", "--journal", "mysql://h/d", "--", "true"}));
    EXPECT_FALSE(takes({"exec", "key", "--store", "SQLITE:/tmp/x", "--", "true"}));
    EXPECT_FALSE(takes({"exec", "key", "--store"}));
    EXPECT_FALSE(takes({"--store", "redis://127.0.0.1", "exec", "key", "--", "true"}));
    for (const auto* name : {"PAWL_STORE", "PAWL_JOURNAL", "PAWL_CONFIG"}) {
        variables = {{name, "redis://127.0.0.1"}};
        EXPECT_FALSE(takes({"exec", "key", "--", "true"})) << name;
        // An option comes first; which of the two counts is for the whole program to say.
        EXPECT_FALSE(takes({"exec", "--store", "memory:", "key", "--", "true"})) << name;
    }
}

TEST_F(QuickPath, IsNotTakenForWhatItLacks) {
    EXPECT_FALSE(takes({"exec", "--help"}));
    EXPECT_FALSE(takes({"exec", "-h"}));
    EXPECT_FALSE(takes({"exec", "--config", "/etc/pawl.toml", "key", "--", "true"}));
    EXPECT_FALSE(takes({"exec", "--url=http://127.0.0.1:7295", "key", "--", "true"}));
    EXPECT_FALSE(takes({"exec", "--version"}));
}

TEST_F(QuickPath, IsNotLeftForTheWordsOfTheCommand) {
    EXPECT_TRUE(takes({"exec", "key", "--", "serve", "--store", "redis://127.0.0.1"}));
    EXPECT_TRUE(takes({"exec", "key", "--", "serve", "--config", "x", "--help"}));
}

}  // namespace
}  // namespace pawl::cli
