#include "base/counted.hpp"

#include <gtest/gtest.h>

namespace pawl::base {
namespace {

TEST(Counted, OneIsSingular) {
    EXPECT_EQ(counted(0, "job"), "0 jobs");
    EXPECT_EQ(counted(1, "job"), "1 job");
    EXPECT_EQ(counted(2, "job"), "2 jobs");
    EXPECT_EQ(counted(1, "entry", "entries"), "1 entry");
    EXPECT_EQ(counted(2, "entry", "entries"), "2 entries");
}

}  // namespace
}  // namespace pawl::base
