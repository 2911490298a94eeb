#include "engines/cas/journal/crash_sweep_fixture.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pawl::cas {
namespace {

// Goal: a verb is one step, whatever becomes of its requests. Method: at each request in turn it,
// or its answer, is lost or late, and then all of them go on or the process is cut off. What is
// seen is all of the verb or nothing of it, and nothing if it says so; another process that repeats
// it gets the answer that was lost, and the same is seen as without any trouble. In the end, what
// lost processes have left can be removed.
void expect_no_violation(const std::vector<watched_verb>& all) {
    const auto found = crash_sweep{}.over(all);
    EXPECT_FALSE(found) << name_of(found->broken) << ": " << found->how;
}
TEST(CrashSweep, AVerbOfARunnerIsOneStepAndRepeatable) { expect_no_violation(verbs_of_runners()); }
TEST(CrashSweep, AVerbOfOthersIsOneStepAndRepeatable) { expect_no_violation(verbs_of_others()); }

}  // namespace
}  // namespace pawl::cas
