#include "schedule/job/job_table.hpp"

#include <gtest/gtest.h>

namespace pawl::schedule {
namespace {

// Goal: a job's own bound holds through two reloads. Method: it is removed and added again while
// one of its runs goes on, and once more when that has ended.
TEST(JobTable, AJobThatIsAddedAgainCountsItsActiveRuns) {
    job_table jobs;
    auto run = jobs.find_or_add("a");
    ++*run->running;
    jobs.remove("a");
    EXPECT_EQ(*jobs.find_or_add("a")->running, 1u);
    EXPECT_EQ(*jobs.find_or_add("b")->running, 0u);
    --*run->running;
    run.reset();
    EXPECT_EQ(*jobs.find_or_add("a")->running, 0u);
    jobs.remove("a");
    EXPECT_EQ(*jobs.find_or_add("a")->running, 0u);
}

}  // namespace
}  // namespace pawl::schedule
