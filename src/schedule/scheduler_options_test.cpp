// What a scheduler takes: jobs and options that it rejects, names, and when a job is due next.
#include "schedule/scheduler_fixture.hpp"
#include "time/clocks.hpp"
#include "time/zone.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;

std::string rejection(const job& what, const schedule_options& when) {
    world one;
    auto where = one.open();
    scheduler cron{where};
    try {
        cron.add(what, when);
    } catch (const option_error& error) {
        return error.what();
    }
    return "";
}

TEST(SchedulerOptions, RejectsWhatMakesNoSenseAndSaysWhatWould) {
    const job good{.name = "j", .lease = brief, .body = [](const run&) {}};
    EXPECT_EQ(rejection(good, each_second), "");
    EXPECT_THAT(rejection(good, {.cron = "0 61 * * *"}),
                testing::StartsWith("job 'j': cron '0 61 * * *' is wrong at column 3: "));
    EXPECT_THAT(rejection(good, {.cron = "0 0 30 2 *"}), testing::HasSubstr("column"));
    EXPECT_THAT(
        rejection(good, {.cron = "@daily", .zone = "Europe/Pari"}),
        testing::AllOf(testing::StartsWith("job 'j': zone: "), testing::HasSubstr("Europe/Paris")));
    EXPECT_EQ(rejection({.name = "j", .lease = brief}, each_second), "the job 'j' has no body");
    EXPECT_EQ(rejection(good, {.cron = "@daily", .partitions = 0}),
              "job 'j': partitions is 0; expected 1 to 1024");
    EXPECT_EQ(rejection(good, {.cron = "@daily", .slots = 0}),
              "job 'j': slots is 0; expected 1 to 256");
    EXPECT_EQ(rejection(good, {.cron = "@daily", .slots = 257}),
              "job 'j': slots is 257; expected 1 to 256");
    EXPECT_EQ(rejection(good, {.cron = "@daily", .partitions = 2, .slots = 2}),
              "job 'j': slots limits concurrent runs, and partitions splits each run "
              "into several; drop one of the two");
    EXPECT_EQ(rejection(good, {.cron = "@daily", .misfire_window = 192h}),
              "job 'j': misfire_window is 8d, but the store forgets what has run after its "
              "retention of 7d: lower it, or open the store with a longer retention");
    EXPECT_EQ(rejection(good, {.cron = "@daily", .jitter = -1ms}),
              "job 'j': jitter is -1 ms; expected 0 to 1d");
    EXPECT_EQ(rejection(good, {.cron = "@daily", .retries = {.factor = 0.5}}),
              "job 'j': retries.factor is 0.500000; expected 1 to 100");
    EXPECT_EQ(rejection(good, {.cron = "@daily", .soft_timeout = 2s, .timeout = 1s}),
              "job 'j': soft_timeout is not below timeout: lower it, or leave it out");
    EXPECT_EQ(rejection(good, when_asked),
              "the job 'j' has no cron, and there is no journal through which a user can trigger "
              "it: give "
              "one of the two");
    auto named = good;
    named.lease.occurrence = occurrence{1};
    EXPECT_THAT(rejection(named, each_second),
                testing::HasSubstr("occurrence names one occurrence"));
    auto manual = good;
    manual.lease.renew = renewal_mode::manual;
    EXPECT_THAT(rejection(manual, each_second), testing::HasSubstr("renewal_mode::manual"));
    auto unkept = good;
    unkept.lease.ttl = 0ms;
    EXPECT_THAT(rejection(unkept, each_second), testing::HasSubstr("ttl"));
}

// Goal: a choice that a cast made is rejected, and never an index. Method: one beyond the last, and
// one before the first.
TEST(SchedulerOptions, RejectsWhatIsNoEnumerator) {
    const job good{.name = "j", .lease = brief, .body = [](const run&) {}};
    for (const int odd : {-1, 9}) {
        const auto said = " " + std::to_string(odd) + " is not an enumerator";
        auto when = each_second;
        when.delivery = static_cast<delivery>(odd);
        EXPECT_THAT(rejection(good, when), testing::HasSubstr("delivery" + said));
        when = each_second;
        when.misfire = static_cast<misfire>(odd);
        EXPECT_THAT(rejection(good, when), testing::HasSubstr("misfire" + said));
        when = each_second;
        when.overlap = static_cast<overlap>(odd);
        EXPECT_THAT(rejection(good, when), testing::HasSubstr("overlap" + said));
        when = each_second;
        when.gap = static_cast<gap_time>(odd);
        EXPECT_THAT(rejection(good, when), testing::HasSubstr("gap" + said));
        when = each_second;
        when.repeat = static_cast<repeated_time>(odd);
        EXPECT_THAT(rejection(good, when), testing::HasSubstr("repeat" + said));
        when = each_second;
        when.on_store_down = static_cast<outage>(odd);
        EXPECT_THAT(rejection(good, when), testing::HasSubstr("on_store_down" + said));
    }
}

TEST(SchedulerOptions, FailOpenIsRejectedUnderCorrectness) {
    world one;
    one.settings.safety = safety_class::correctness;
    auto where = one.open();
    scheduler cron{where};
    const job good{.name = "j", .lease = brief, .body = [](const run&) {}};
    EXPECT_THROW(cron.add(good, {.cron = "@daily", .on_store_down = outage::run_without_lease}),
                 option_error);
}

// Either would run what the other has claimed.
TEST(SchedulerOptions, JobsWithAKeyInCommonAreRejected) {
    schedule_world one;
    auto store = one.open();
    scheduler cron{store};
    const auto named = [&](const std::string& name) { return one.note(name, "a"); };
    schedule_options parted{.cron = "@daily"};
    parted.partitions = 2;
    cron.add(named("import"), parted);
    EXPECT_THROW(cron.add(named("import/1"), {.cron = "@daily"}), option_error);
    cron.add(named("import/2"), {.cron = "@daily"});
    cron.add(named("import/01"), {.cron = "@daily"});
    cron.add(named("export/0"), {.cron = "@daily"});
    EXPECT_THROW(cron.add(named("export"), parted), option_error);
    EXPECT_TRUE(cron.remove("export/0"));
    cron.add(named("export"), parted);
}

// A window that no run could meet would be a job that never runs.
TEST(SchedulerOptions, AWindowOfNothingIsASecond) {
    schedule_world one;
    auto a = one.node("a");
    schedule_options at_once = each_second;
    at_once.misfire_window = millis{0};
    a->cron.add(one.note("j", "a"), at_once);
    a->start();
    EXPECT_TRUE(one.seen.wait_for(1));
    a->stop();
}

TEST(SchedulerOptions, ANameIsThereOnceUntilItIsRemoved) {
    world one;
    auto where = one.open();
    scheduler cron{where};
    const job good{.name = "j", .lease = brief, .body = [](const run&) {}};
    cron.add(good, each_second);
    EXPECT_THROW(cron.add(good, each_second), option_error);
    EXPECT_TRUE(cron.remove("j"));
    EXPECT_FALSE(cron.remove("j"));
    cron.add(good, each_second);
}

TEST(SchedulerOptions, KnowsWhenAJobFiresNext) {
    world one;
    auto where = one.open();
    scheduler cron{where};
    const job good{.name = "j", .lease = brief, .body = [](const run&) {}};
    cron.add(good, {.cron = "30 4 * * *", .zone = "Europe/Paris"});
    const auto now = time::local_now();
    const auto next = cron.next("j");
    ASSERT_TRUE(next);
    EXPECT_GT(*next, now);
    EXPECT_LE(*next, now + 25h);
    const auto paris = time::zone::find("Europe/Paris").value();
    const auto local =
        *next + paris.offset_at(std::chrono::floor<std::chrono::microseconds>(*next));
    EXPECT_EQ(local - std::chrono::floor<std::chrono::days>(local), 4h + 30min);
    EXPECT_FALSE(cron.next("k"));
}

}  // namespace
}  // namespace pawl
