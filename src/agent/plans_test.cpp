#include "agent/plans.hpp"

#include <gtest/gtest.h>

namespace pawl::agent {
namespace {

using namespace std::chrono_literals;

config::job_settings limited() {
    config::job_settings job;
    job.name = "trial";
    job.ttl = 1s;
    job.grace = 0s;
    job.timeout = 5s;
    return job;
}

// The lease counts from its grant, the timeout from the start: a journal that answers late takes
// nothing of the run's time.
TEST(Plans, ALeaseOutlastsTheTimeoutOfARunThatBeganLate) {
    constexpr auto answers_after = 10s;
    const auto job = limited();
    EXPECT_GE(lease_of(job).max_lifetime, answers_after + job.timeout + job.grace + job.ttl);
}

// Nor does it last for ever; where nothing bounds the run, nothing bounds the lease.
TEST(Plans, ALeaseIsBoundedWhereTheRunIs) {
    auto job = limited();
    EXPECT_LE(lease_of(job).max_lifetime, 30s);
    job.retries.max = 1;
    EXPECT_EQ(lease_of(job).max_lifetime, 0s);
}

}  // namespace
}  // namespace pawl::agent
