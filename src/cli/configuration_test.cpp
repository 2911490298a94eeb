// Which store a command works on: a flag beats the environment, which beats the file.
#include "cli/configuration.hpp"
#include "cli/client.hpp"
#include "cli/status.hpp"
#include "test_support/folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace pawl::cli {
namespace {

using testing::HasSubstr;

class Configuration : public testing::Test {
protected:
    Configuration() { forget(); }
    ~Configuration() override { forget(); }

    static void forget() {
        for (const char* name : {"PAWL_STORE", "PAWL_JOURNAL", "PAWL_CONFIG", "PAWL_URL",
                                 "PAWL_RUN_ID", "PAWL_FENCE_TOKEN", "NO_COLOR"})
            unsetenv(name);
    }

    template <class Chosen>
    exit_error refusal(Chosen chosen) {
        try {
            chosen();
        } catch (const exit_error& error) {
            return error;
        }
        return {status::done, ""};
    }

    const testing_files::test_folder folder_;
    globals options_;
};

TEST_F(Configuration, AFlagBeatsTheEnvironmentWhichBeatsTheFile) {
    const auto file = folder_.write("pawl.toml", "store = \"memory:file\"\njournal = \"none\"\n");
    options_.config = file;
    EXPECT_EQ(choose_store(options_).url, "memory:file");
    EXPECT_EQ(choose_store(options_).from, file);
    EXPECT_EQ(choose_journal(options_).url, "none");
    setenv("PAWL_STORE", "memory:environment", 1);
    setenv("PAWL_JOURNAL", "sqlite:/environment", 1);
    EXPECT_EQ(choose_store(options_).url, "memory:environment");
    EXPECT_EQ(choose_store(options_).from, "PAWL_STORE");
    EXPECT_EQ(choose_journal(options_).from, "PAWL_JOURNAL");
    options_.store = "memory:flag";
    options_.journal = "sqlite:/flag";
    EXPECT_EQ(choose_store(options_).url, "memory:flag");
    EXPECT_EQ(choose_store(options_).from, "--store");
    EXPECT_EQ(choose_journal(options_).url, "sqlite:/flag");
}

TEST_F(Configuration, AnEmptyVariableIsNone) {
    setenv("PAWL_CONFIG", folder_.write("pawl.toml", "store = \"memory:file\"\n").c_str(), 1);
    setenv("PAWL_STORE", "", 1);
    EXPECT_EQ(choose_store(options_).url, "memory:file");
    EXPECT_EQ(choose_journal(options_).from, "the store");
}

TEST_F(Configuration, AFileThatCannotBeMeantIsToldWithItsPlace) {
    options_.config = folder_.write("pawl.toml", "journal = \"none\"\nstore = 7\n");
    auto why = refusal([&] { choose_store(options_); });
    EXPECT_EQ(why.code(), status::configuration);
    EXPECT_THAT(why.what(), HasSubstr("pawl.toml:2:9: store must be a string"));
    options_.config = folder_.write("pawl.toml", "store = \n");
    why = refusal([&] { choose_store(options_); });
    EXPECT_EQ(why.code(), status::configuration);
    EXPECT_THAT(why.what(), HasSubstr("pawl.toml:1:"));
    options_.config = folder_ / "absent.toml";
    EXPECT_EQ(refusal([&] { choose_store(options_); }).code(), status::configuration);
}

// Its default would be another store than the one that granted the run its lease.
TEST_F(Configuration, ARunThatWasGivenNoStoreHasNoDefault) {
    setenv("PAWL_RUN_ID", "4b1f", 1);
    const auto why = refusal([&] { choose_store(options_); });
    EXPECT_EQ(why.code(), status::configuration);
    EXPECT_THAT(why.what(), HasSubstr("store_access = true"));
    options_.store = "memory:";
    EXPECT_EQ(choose_store(options_).url, "memory:");
}

TEST_F(Configuration, AWrongFlagIsUsageAndAWrongFileIsConfiguration) {
    options_.store = "nosuch:";
    EXPECT_EQ(refusal([&] { open_locks(options_); }).code(), status::usage);
    options_.store.reset();
    setenv("PAWL_STORE", "nosuch:", 1);
    const auto why = refusal([&] { open_locks(options_); });
    EXPECT_EQ(why.code(), status::configuration);
    EXPECT_THAT(why.what(), HasSubstr("PAWL_STORE: "));
    setenv("PAWL_STORE", "memory:", 1);
    options_.journal = "nosuch:";
    EXPECT_EQ(refusal([&] { open_core(options_); }).code(), status::usage);
}

TEST_F(Configuration, AnAgentIsAskedWhereItIsNamedAndNoStoreIsNamedByHand) {
    EXPECT_FALSE(asks_an_agent(options_));
    setenv("PAWL_URL", "http://127.0.0.1:7295", 1);
    EXPECT_TRUE(asks_an_agent(options_));
    // A run asks the store that granted its lease.
    setenv("PAWL_FENCE_TOKEN", "7", 1);
    EXPECT_FALSE(asks_an_agent(options_));
    unsetenv("PAWL_FENCE_TOKEN");
    options_.store = "memory:";
    EXPECT_FALSE(asks_an_agent(options_));
    options_.store.reset();
    unsetenv("PAWL_URL");
    options_.url = "http://127.0.0.1:7295";
    EXPECT_TRUE(asks_an_agent(options_));
}

TEST_F(Configuration, ColorIsForTerminalsUnlessItIsAskedFor) {
    EXPECT_FALSE(color_wanted(options_, -1));
    options_.color = "always";
    setenv("NO_COLOR", "1", 1);
    EXPECT_TRUE(color_wanted(options_, -1));
    options_.color = "never";
    EXPECT_FALSE(color_wanted(options_, -1));
}

}  // namespace
}  // namespace pawl::cli
