// What the configuration accepts, the lease accepts.
#include "config/config_fixture.hpp"
#include "config/fields.hpp"

#include <pawl/options.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace pawl::config {
namespace {

lease_options lease_of(const job_settings& job) {
    lease_options options;
    options.ttl = job.ttl;
    options.min_hold = job.min_hold;
    options.hold_until_expiry = job.hold_until_expiry;
    options.grace = job.grace;
    options.renew_fraction = job.renew_fraction;
    if (job.renew_fraction >= 1.0 / 3) options.retry_period = millis{1};
    options.max_renew_failures = static_cast<int>(job.max_renew_failures);
    options.acquire_jitter = job.jitter;
    return options;
}

// Goal: no job that was accepted is rejected when it fires. Method: values at and around every
// bound, in every combination that differs, as the file would say them.
TEST(Rules, WhatIsAcceptedHereIsAcceptedByTheLease) {
    std::size_t accepted = 0, rejected = 0;
    for (const std::string ttl : {"99ms", "100ms", "1s", "30s", "7d"})
        for (const std::string fraction :
             {"0.009", "0.01", "0.3", "0.33", "0.34", "0.5", "0.58", "0.6", "0.7", "0.71"})
            for (const std::string at_least : {"0s", "100ms", "31s", "7d"})
                for (const std::string grace : {"0s", "10s", "24h"})
                    for (const std::string hold : {"true", "false"}) {
                        const auto read = read_configuration(
                            "[[job]]\nname='a'\ncommand=['x']\njitter='1h'\nttl='" + ttl +
                                "'\nrenew_fraction=" + fraction + "\nat_least='" + at_least +
                                "'\ngrace='" + grace + "'\nhold=" + hold,
                            "f");
                        if (!read.usable()) {
                            ++rejected;
                            continue;
                        }
                        ++accepted;
                        const auto bad = validate(lease_of(read.values.jobs[0]), store_traits{},
                                                  safety_class::efficiency);
                        EXPECT_FALSE(bad) << *bad;
                    }
    EXPECT_GT(accepted, 100u);
    EXPECT_GT(rejected, 100u);
}

// Goal: a job that is accepted can be published. Method: commands and descriptions around the bound
// of the journal, of which a quote takes two bytes.
TEST(Rules, AJobIsNotLongerThanTheJournalTakes) {
    const auto fault_of = [](const std::string& command, const std::string& more = "") {
        const auto read = read_configuration(
            "[[job]]\nname = 'a'\ncommand = ['sh', '-c', " + command + "]\n" + more, "f");
        return read.usable() ? "" : describe(read)[0];
    };
    const auto text = [](std::size_t bytes, char of) { return "'" + std::string(bytes, of) + "'"; };
    EXPECT_EQ(fault_of(text(60'000, 'x')), "");
    EXPECT_EQ(fault_of(text(30'000, '"')), "");
    EXPECT_THAT(fault_of(text(40'000, '"')), testing::HasSubstr("f:3:"));
    EXPECT_THAT(fault_of(text(33'000, 'x') + ", " + text(33'000, 'x')),
                testing::HasSubstr("put a long script into a file"));
    EXPECT_THAT(fault_of(text(33'000, 'x'), "description = " + text(33'000, 'x')),
                testing::HasSubstr("bytes in the journal"));
}

// Goal: whatever is wrong, and in whatever combination, is told within the file, printably, in one
// line each, and no text makes the reader fail otherwise. Method: texts shuffled from right and
// wrong lines.
TEST(Rules, AnyMixtureOfLinesIsReadOrTold) {
    std::vector<std::string> lines{"[agent]", "[[job]]", "[defaults]", "[[user]]",   "name = 'a'",
                                   "= 3",     "x",       "[job.a]",    "a.b.c = {}", "\"\" = 1"};
    for (const auto& key : known_keys())
        for (const std::string value : {"3", "'x'", "true", "[]", "{}", "1.5", "['a']", "\"\\n\"",
                                        "1979-05-27", "'30s'", "[[1]]", "{a={b=1}}"})
            lines.push_back(key.name + " = " + value);
    std::mt19937 rng{20261121};
    std::size_t usable = 0;
    for (int round = 0; round < 40'000; ++round) {
        std::string text;
        std::uint32_t count = 0;
        for (; count < 1 + rng() % 6; ++count) text += lines[rng() % lines.size()] + "\n";
        const auto read = read_configuration(text, "f");
        if (read.usable()) ++usable;
        ASSERT_LE(read.faults.size(), read.fault_count) << text;
        for (const fault& one : read.faults) {
            ASSERT_GE(one.at.line, 1u) << text << one.what;
            ASSERT_LE(one.at.line, count + 1) << text << one.what;
            ASSERT_GE(one.at.column, 1u) << text << one.what;
            ASSERT_EQ(one.what.find('\n'), std::string::npos) << text;
        }
    }
    EXPECT_GT(usable, 10u);
}

}  // namespace
}  // namespace pawl::config
