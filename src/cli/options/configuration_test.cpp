// Which store a command works on: a flag beats the environment, which beats the file.
#include "cli/options/configuration.hpp"
#include "base/text.hpp"
#include "cli/clients/client.hpp"
#include "cli/output/status.hpp"
#include "config/fields.hpp"
#include "config/file_keys.hpp"
#include "config/reading.hpp"
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
    exit_error rejection(Chosen chosen) {
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
    auto why = rejection([&] { choose_store(options_); });
    EXPECT_EQ(why.code(), status::configuration);
    EXPECT_THAT(why.what(), HasSubstr("pawl.toml:2:9: store must be a string"));
    options_.config = folder_.write("pawl.toml", "store = \n");
    why = rejection([&] { choose_store(options_); });
    EXPECT_EQ(why.code(), status::configuration);
    EXPECT_THAT(why.what(), HasSubstr("pawl.toml:1:"));
    options_.config = folder_ / "absent.toml";
    EXPECT_EQ(rejection([&] { choose_store(options_); }).code(), status::configuration);
}

// It would read as an empty file, and the store would be this machine's own.
TEST_F(Configuration, WhatIsNoFileIsRejectedAsTheAgentRejectsIt) {
    for (const auto& path : {folder_ / ".", folder_ / "absent.toml", std::string{"/dev/null"}}) {
        options_.config = path;
        const auto why = rejection([&] { choose_store(options_); });
        EXPECT_EQ(why.code(), status::configuration) << path;
        const auto said = config::describe(config::read_configuration_file(path));
        ASSERT_EQ(said.size(), 1U);
        EXPECT_EQ(why.what(), said.front());
        EXPECT_EQ(rejection([&] { choose_journal(options_); }).code(), status::configuration)
            << path;
    }
}

TEST_F(Configuration, AMisspeltOrMisplacedStoreIsNoDefault) {
    const struct {
        const char *text, *says;
    } cases[] = {
        {"stor = 'memory:'\n", ":1:1: unknown key 'stor' in the file; did you mean 'store'?"},
        {"Store = 'memory:'\n", "did you mean 'store'?"},
        {"store = 'memory:'\njournl = 'none'\n", ":2:1: unknown key 'journl' in the file"},
        {"redis = 'memory:'\n", "unknown key 'redis' in the file; there are agent"},
        {"[agent]\nstore = 'memory:'\n",
         ":2:1: unknown key 'store' in [agent]; it belongs to the file, above its first [table]"},
        {"[agent]\nstor = 'memory:'\n",
         "unknown key 'stor' in [agent]; 'store' belongs to the file"},
        {"[[job]]\nname = 'j'\n\njournal = 'none'\n",
         ":4:1: unknown key 'journal' in [[job]]; it belongs to the file"},
        {"store = ''\n", ":1:9: store is empty"},
    };
    for (const auto& one : cases) {
        options_.config = folder_.write("pawl.toml", one.text);
        const auto why = rejection([&] { choose_store(options_), choose_journal(options_); });
        EXPECT_EQ(why.code(), status::configuration) << one.text;
        EXPECT_THAT(why.what(), HasSubstr(one.says)) << one.text;
        EXPECT_FALSE(config::read_configuration(one.text, "pawl.toml").usable()) << one.text;
    }
}

// Goal: exec does not depend on jobs being right, and no key that an agent takes is a misspelt
// store.
TEST_F(Configuration, WhatIsWrongWithAJobStopsNoOtherCommand) {
    options_.config = folder_.write(
        "pawl.toml", "store = 'memory:file'\n[agent]\nlisen = 1\n[[job]]\nstore_access = 'x'\n");
    EXPECT_EQ(choose_store(options_).url, "memory:file");
    for (const auto& one : config::known_keys()) {
        if (one.section == "the file") continue;
        EXPECT_FALSE(base::nearest(one.name, {"store", "journal"})) << one.name;
    }
}

TEST_F(Configuration, AFileWithoutAStoreStandsForTheDefault) {
    options_.config = folder_.write("pawl.toml", "# store = 'memory:'\n");
    EXPECT_EQ(choose_store(options_).from, "default");
}

// Its default would be another store than the one that granted the run its lease.
TEST_F(Configuration, ARunThatWasGivenNoStoreHasNoDefault) {
    setenv("PAWL_RUN_ID", "4b1f", 1);
    const auto why = rejection([&] { choose_store(options_); });
    EXPECT_EQ(why.code(), status::configuration);
    EXPECT_THAT(why.what(), HasSubstr("store_access = true"));
    options_.store = "memory:";
    EXPECT_EQ(choose_store(options_).url, "memory:");
}

TEST_F(Configuration, AWrongFlagIsUsageAndAWrongFileIsConfiguration) {
    options_.store = "nosuch:";
    EXPECT_EQ(rejection([&] { open_locks(options_); }).code(), status::usage);
    options_.store.reset();
    setenv("PAWL_STORE", "nosuch:", 1);
    const auto why = rejection([&] { open_locks(options_); });
    EXPECT_EQ(why.code(), status::configuration);
    EXPECT_THAT(why.what(), HasSubstr("PAWL_STORE: "));
    setenv("PAWL_STORE", "memory:", 1);
    options_.journal = "nosuch:";
    EXPECT_EQ(rejection([&] { open_core(options_); }).code(), status::usage);
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
