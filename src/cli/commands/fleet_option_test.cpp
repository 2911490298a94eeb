#include "cli/commands/fleet_option.hpp"

#include "cli/options/commands.hpp"

#include <gtest/gtest.h>

namespace pawl::cli {
namespace {

using namespace std::chrono_literals;

TEST(FleetOption, NamesWhatDiffersFromTheUsual) {
    const auto all = fleet_in("agents=30,jobs=1200,every=1m,run=5s,ttl=10s");
    EXPECT_EQ(all.agents, 30u);
    EXPECT_EQ(all.jobs, 1200u);
    EXPECT_EQ(all.every, 1min);
    EXPECT_EQ(all.run, 5s);
    EXPECT_EQ(all.ttl, 10s);
    EXPECT_EQ(fleet_in("jobs=7").agents, schedule::fleet{}.agents);
}

TEST(FleetOption, WhatItIsNotIsOneLine) {
    struct {
        const char* text;
        const char* told;
    } const cases[] = {
        {"", "--plan ''; expected agents=N, jobs=N, every=DUR, run=DUR or ttl=DUR"},
        {"agents=3,", "--plan ''; expected agents=N, jobs=N, every=DUR, run=DUR or ttl=DUR"},
        {"agnts=3", "--plan 'agnts=3'; expected agents=N, jobs=N, every=DUR, run=DUR or ttl=DUR"},
        {"agents", "--plan 'agents'; expected an integer from 1 to 1000000"},
        {"agents=0", "--plan 'agents=0'; expected an integer from 1 to 1000000"},
        {"jobs=-1", "--plan 'jobs=-1'; expected an integer from 1 to 1000000000"},
        {"every=0s", "--plan 'every=0s'; expected a duration from 1ms to 366d"},
        {"run=soon", "--plan 'run=soon'; expected a duration from 1ms to 366d"},
    };
    for (const auto& one : cases) {
        try {
            static_cast<void>(fleet_in(one.text));
            ADD_FAILURE() << one.text;
        } catch (const exit_error& error) {
            EXPECT_EQ(error.code(), status::usage);
            EXPECT_STREQ(error.what(), one.told);
        }
    }
}

}  // namespace
}  // namespace pawl::cli
