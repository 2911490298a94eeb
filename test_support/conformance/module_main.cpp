// Puts an engine that comes as a module to the laws: pawl-conformance URL [option of GoogleTest…].
// Or, started by one of the laws, contends for a key as another process.
#include "test_support/conformance/contender.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace {

constexpr int usage_status = 64;
constexpr const char* usage =
    "usage: pawl-conformance URL [option…]\n"
    "Puts the engine of the URL to the laws that every store keeps. The URL has {losses} where it\n"
    "is to name other data once the suite has lost the first, such as map:{losses}. The module is\n"
    "looked for in the folders of PAWL_ENGINE_PATH. Options are those of GoogleTest, such as\n"
    "--gtest_filter=*Release*.\n";

}  // namespace

int main(int count, char** words) {
    testing::InitGoogleTest(&count, words);
    if (const auto status = pawl::conformance::contender_main({words, words + count}))
        return *status;
    if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
    if (count == 2) setenv("PAWL_CONFORMANCE_STORE", words[1], 1);
    if (count > 2 || std::getenv("PAWL_CONFORMANCE_STORE") == nullptr) {
        std::cerr << usage;
        return usage_status;
    }
    return RUN_ALL_TESTS();
}
