// Runs the laws; or, started by one of them, contends for a key as another process.
#include "test_support/conformance/contender.hpp"

#include <gtest/gtest.h>

int main(int count, char** words) {
    testing::InitGoogleTest(&count, words);
    if (const auto status = pawl::conformance::contender_main({words, words + count}))
        return *status;
    return RUN_ALL_TESTS();
}
