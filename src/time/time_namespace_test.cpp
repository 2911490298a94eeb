#include "time/time_namespace.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace pawl::time {
namespace {

using namespace std::chrono_literals;

std::chrono::nanoseconds offset_in(const std::string& text) {
    std::istringstream lines{text};
    return boottime_offset_in(lines);
}

// As time_namespaces(7) shows the file.
TEST(TimeNamespace, TheOffsetIsThatOfTheBoottimeClock) {
    EXPECT_EQ(offset_in("monotonic           0         0\nboottime            0         0\n"), 0s);
    EXPECT_EQ(offset_in("monotonic      172800         0\nboottime       604800       500\n"),
              604800s + 500ns);
    EXPECT_EQ(offset_in("monotonic           0         0\nboottime         -60 250000000\n"),
              -60s + 250ms);
}

TEST(TimeNamespace, WhereTheKernelKnowsNoneThereIsNoOffset) {
    EXPECT_EQ(offset_in(""), 0s);
    EXPECT_EQ(offset_in("what is this\n"), 0s);
}

}  // namespace
}  // namespace pawl::time
