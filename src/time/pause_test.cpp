#include "time/pause.hpp"

#include <gtest/gtest.h>

namespace pawl::time {
namespace {

// Goal: a pause never ends early. Method: pauses of several lengths, also one that is over before
// it begins.
TEST(Pause, EndsNoEarlierThanAsked) {
    for (const auto length : {-5, 0, 1, 20}) {
        const auto when = lease_clock::now() + std::chrono::milliseconds{length};
        pause_until(when);
        EXPECT_GE(lease_clock::now(), when);
    }
}

}  // namespace
}  // namespace pawl::time
