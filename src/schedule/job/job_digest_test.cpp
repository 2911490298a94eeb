#include "schedule/job/job_digest.hpp"

#include "net/loop.hpp"
#include "schedule/job/job_table.hpp"
#include "time/zone.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace pawl::schedule {
namespace {

std::shared_ptr<job_plan> plan_of(const char* name, const char* when) {
    auto plan = std::make_shared<job_plan>();
    plan->name = name;
    plan->when = occurrence_rule{*time::cron::parse(when)};
    return plan;
}

std::string digest_with(const std::vector<std::shared_ptr<job_plan>>& plans) {
    job_table jobs;
    for (const auto& one : plans) jobs.find_or_add(one->name)->plan = one;
    return digest_of(jobs);
}

// Nodes agree on it whatever the order of their configuration, and anything that moves an
// occurrence or a key is another digest.
TEST(JobDigest, SaysWhetherTheSameComesDueUnderTheSameKeys) {
    const auto whole = digest_with({plan_of("a", "* * * * *"), plan_of("b", "@every 5m")});
    EXPECT_EQ(whole, digest_with({plan_of("b", "@every 5m"), plan_of("a", "* * * * *")}));
    EXPECT_NE(whole, digest_with({plan_of("a", "* * * * *")}));
    EXPECT_NE(whole, digest_with({plan_of("a", "* * * * *"), plan_of("b", "@every 6m")}));
    auto parts = plan_of("b", "@every 5m");
    parts->partitions = 2;
    EXPECT_NE(whole, digest_with({plan_of("a", "* * * * *"), parts}));
    auto slots = plan_of("b", "@every 5m");
    slots->partitions = 2;
    slots->has_slots = true;
    EXPECT_NE(digest_with({plan_of("a", "* * * * *"), slots}),
              digest_with({plan_of("a", "* * * * *"), parts}));
    auto off = plan_of("b", "@every 5m");
    off->enabled = false;
    EXPECT_EQ(digest_with({plan_of("a", "* * * * *"), off}),
              digest_with({plan_of("a", "* * * * *")}));
}

// A job that each node has of its own makes no strangers of them.
TEST(JobDigest, LeavesOutWhatNoOtherNodeHas) {
    auto mine = plan_of("clean@a", "@every 5m");
    mine->is_shared = false;
    EXPECT_EQ(digest_with({plan_of("a", "* * * * *"), mine}),
              digest_with({plan_of("a", "* * * * *")}));
}

TEST(JobDigest, TravelsBehindTheVersion) {
    const auto told = time::with_zones(with_jobs("1.2.3", "0123456789abcdef"), "2026a");
    EXPECT_EQ(told, "1.2.3+jobs.0123456789abcdef+tzdata.2026a");
    EXPECT_EQ(split_jobs(told).jobs, "0123456789abcdef");
    EXPECT_EQ(split_jobs(told).version, "1.2.3+tzdata.2026a");
    EXPECT_EQ(time::split_zones(split_jobs(told).version).version, "1.2.3");
    // An earlier agent does not say.
    EXPECT_EQ(split_jobs("1.2.3+tzdata.2026a").jobs, "");
    EXPECT_EQ(split_jobs("1.2.3+tzdata.2026a").version, "1.2.3+tzdata.2026a");
}

}  // namespace
}  // namespace pawl::schedule
