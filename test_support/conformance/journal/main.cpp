// Runs the laws; or, started by one of them, races for occurrences as another process.
#include "test_support/conformance/journal/racer.hpp"

#include <gtest/gtest.h>

int main(int count, char** words) {
    testing::InitGoogleTest(&count, words);
    if (const auto status = pawl::conformance::racer_main({words, words + count})) return *status;
    return RUN_ALL_TESTS();
}
