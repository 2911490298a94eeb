// What a command line that cannot be meant is answered: one line that says what is wrong, and 64.
#include "cli/command_line.hpp"
#include "cli/options/given_options.hpp"
#include "cli/output/status.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace pawl::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

struct said {
    int status;
    std::string out, err;
};

said run_words(std::vector<std::string> words) {
    words.insert(words.begin(), "pawl");
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = run(static_cast<int>(pointers.size()), pointers.data());
    auto out = testing::internal::GetCapturedStdout();
    return {status, std::move(out), testing::internal::GetCapturedStderr()};
}

TEST(CommandLine, TellsItsVersion) {
    const auto told = run_words({"--version"});
    EXPECT_EQ(told.status, 0);
    EXPECT_THAT(told.out, StartsWith("pawl " PAWL_VERSION));
    EXPECT_EQ(told.err, "");
}

TEST(CommandLine, AStoreThatIsFullIsToldFromOneOutOfReach) {
    EXPECT_EQ(status_of(store_error{{errc::unreachable, "full", true}}), status::io_error);
    EXPECT_EQ(status_of(store_error{{errc::unreachable, "down"}}), status::unavailable);
    EXPECT_EQ(status_of(store_error{{errc::rejected, "read-only"}}), status::io_error);
    EXPECT_EQ(status_of(store_error{{errc::outcome_unknown, "too few replicas", true}}),
              status::unavailable);
}

TEST(CommandLine, WhatIsWrongIsOneLine) {
    const struct {
        std::vector<std::string> words;
        const char* says;
    } cases[] = {
        {{"exce", "key", "--", "true"}, "unknown command 'exce'; did you mean 'exec'?"},
        {{"jobs", "lss"}, "unknown command 'lss'; did you mean 'ls'? (see 'pawl jobs --help')"},
        {{"--no-such"}, "unknown option '--no-such'"},
        {{"runs", "ls", "--status", "done"},
         "invalid status 'done'; expected started (or running)"},
        {{"cron", "next", "--no-such", "* * * * *"}, "--no-such"},
        {{"locks", "release"}, "KEY"},
        {{"exec", "key", "--ttl", "1 fortnight", "--", "true"}, "--ttl: '1 fortnight' at column"},
        {{"exec", "key", "--ttl", "1\n2", "--", "true"}, "--ttl: '1?2' at column"},
        {{"exec", "key", "--timeout", "\x1b[31m", "--", "true"}, "--timeout: '?[31m' at column"},
        {{"exec", "key", "--occurrence", "\x1b[31m\n", "--", "true"}, "'?[31m?' at column"},
        {{"exec", "key", "--on-store-down", "\x1b[31m", "--", "true"}, "?[31m"},
        // A key may have the name of a command.
        {{"exec", "locks", "--ttl", "1 fortnight", "--", "true"}, "--ttl: '1 fortnight' at column"},
        {{"exec", "key", "--occurrence", "soon", "--", "true"}, "soon"},
        {{"fence", "check", "door", "0"}, "invalid fencing token '0'; expected an integer"},
        // As by "$DUE" where DUE is not set.
        {{"exec", "key", "--occurrence", "", "--", "true"},
         "--occurrence is empty; expected RFC3339|minute|hour|day, or leave the option out (see"},
        {{"exec", "key", "--occurrence=", "--", "true"}, "--occurrence is empty"},
        {{"exec", "key", "--wait=", "--", "true"}, "--wait is empty"},
        {{"exec", "key", "--wait", "", "--", "true"}, "--wait is empty; expected DUR, or"},
        {{"exec", "key", "--wait", "5", "--", "true"}, "--wait: '5' at column 2: the unit is"},
        {{"exec", "key", "--wait", "5x", "--", "true"}, "--wait: '5x' at column 2"},
        // Keys, behind a --wait without a value.
        {{"exec", "--on-store-down=maybe", "--wait", "5key", "--", "true"}, "maybe"},
        {{"exec", "--on-store-down", "maybe", "--wait", "5key", "--", "true"}, "maybe"},
        {{"exec", "--on-store-down", "maybe", "--wait", "2024-report", "--", "true"}, "maybe"},
        {{"exec", "key", "--ttl=", "--", "true"}, "--ttl is empty; expected DUR"},
        {{"exec", "key", "--timeout", "", "--", "true"}, "--timeout is empty"},
        {{"exec", "key", "--slots=", "--", "true"}, "--slots is empty; expected N"},
        {{"--store", "", "exec", "key", "--", "true"}, "--store is empty; expected URL"},
        {{"--store=", "locks", "ls"}, "--store is empty"},
        {{"locks", "ls", "--journal", ""}, "--journal is empty"},
        {{"locks", "ls", "--config", ""}, "--config is empty; expected FILE"},
        {{"locks", "ls", "--url", ""}, "--url is empty"},
        {{"locks", "ls", "--prefix", ""}, "--prefix is empty"},
        {{"runs", "ls", "--job", ""}, "--job is empty"},
        {{"cron", "next", "* * * * *", "--from", ""}, "--from is empty"},
        {{"jobs", "pause", "j", "--reason", ""}, "reason is empty; say why, for the audit"},
        {{"jobs", "pause", "j", "--reason", " \t"}, "reason is empty; say why, for the audit"},
        {{"jobs", "pause", "j", "--reason="}, "reason is empty; say why, for the audit"},
        {{"runs", "cancel", "r", "--reason", ""}, "reason is empty; say why, for the audit"},
        {{"locks", "release", "k", "--yes", "--reason", " "}, "reason is empty; say why"},
        {{"exec", "key", "--slots", "0x10", "--", "true"},
         "--slots: Value 0x10 not in range 1 to 256 (see 'pawl exec --help')"},
        {{"exec", "key", "--slots", "+3", "--", "true"}, "Value +3 not in range"},
        {{"exec", "key", "--slots", " 3", "--", "true"}, "Value  3 not in range"},
        {{"jobs", "run", "j", "--partition", "x"}, "--partition: Value x not in range 0 to"},
        {{"bench", "--for", "0s"}, "--for: '0s' leaves no time to measure in"},
        {{"exec", "key", "--occurrence", "2026-13-01T00:00:00Z", "--", "true"},
         "or it lies before 1970; expected such a time, or minute, hour or day"},
        {{"exec", "key", "--at-leats", "2m", "--", "true"},
         "unknown option '--at-leats'; did you mean '--at-least'? (see 'pawl exec --help')"},
        {{"exec", "key", "--on-store-down", "maybe", "--", "true"}, "(see 'pawl exec --help')"},
        {{"token", "new", "--role", "admin"}, "(see 'pawl token new --help')"},
        {{"--log-level", "loud", "cron", "next", "* * * * *"}, "--log-level"},
        {{"--url", "http://127.0.0.1:1", "--store", "memory:", "locks", "ls"}, "give one of them"},
        {{"--url", "http://127.0.0.1:1", "exec", "key", "--", "true"}, "leave out --url"},
        {{"--store", "nosuch://host", "locks", "ls"}, "nosuch"},
    };
    for (const auto& [words, says] : cases) {
        const auto told = run_words(words);
        const auto line = testing::PrintToString(words);
        EXPECT_EQ(told.status, static_cast<int>(status::usage)) << line << told.err;
        EXPECT_THAT(told.err, StartsWith("pawl: ")) << line;
        EXPECT_THAT(told.err, HasSubstr(says)) << line;
        EXPECT_THAT(told.err, EndsWith("\n")) << line;
        EXPECT_EQ(std::count(told.err.begin(), told.err.end(), '\n'), 1) << line;
        EXPECT_EQ(told.out, "") << line;
    }
}

// CLI11 takes lists of its own apart: a command would be another one than was written.
TEST(CommandLine, WordsInBracketsStayAsTheyAre) {
    const std::vector<std::string> given{"printf", "[0-9]",    "[]", "[a,b]",
                                         "[[x]]",  "[ -f x ]", "["};
    for (const bool behind_dashes : {true, false}) {
        CLI::App app;
        std::string key;
        std::vector<std::string> words;
        auto* command = app.add_subcommand("exec");
        command->add_option("KEY", key)->required();
        add_words(*command, "COMMAND", words, "");
        std::vector<std::string> line{"exec", "[k]"};
        if (behind_dashes) line.emplace_back("--");
        line.insert(line.end(), given.begin(), given.end());
        std::reverse(line.begin(), line.end());
        app.parse(std::move(line));
        EXPECT_EQ(key, "[k]");
        EXPECT_EQ(words, given);
    }
}

TEST(CommandLine, NoCommandIsAnsweredWithTheHelp) {
    const std::vector<std::vector<std::string>> cases{std::vector<std::string>{},
                                                      std::vector<std::string>{"locks"}};
    for (const auto& words : cases) {
        const auto told = run_words(words);
        EXPECT_EQ(told.status, static_cast<int>(status::usage));
        EXPECT_THAT(told.err, HasSubstr("Subcommands:"));
        EXPECT_EQ(told.out, "");
    }
}

// Other users of a machine read what /proc shows of a command line.
TEST(CommandLine, SecretsAreTakenOutOfTheWords) {
    std::string url = "redis://user:opensesame@127.0.0.1:1";
    std::vector<std::string> words{"pawl", "--store", url, "exec", "key", "--help"};
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    testing::internal::CaptureStdout();
    EXPECT_EQ(run(static_cast<int>(pointers.size()), pointers.data()), 0);
    testing::internal::GetCapturedStdout();
    EXPECT_EQ(words[2], "redis://user:**********@127.0.0.1:1");
}

}  // namespace
}  // namespace pawl::cli
