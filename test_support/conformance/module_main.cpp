// Puts the engine of a URL to the laws: pawl-conformance URL [--processes] [option of GoogleTest…].
// Or, started by one of the laws, contends for a key as another process.
#include "test_support/conformance/contender.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

namespace {

constexpr int usage_status = 64;
constexpr const char* usage =
    "usage: pawl-conformance URL [--processes] [option…]\n"
    "Puts the engine of the URL to the laws that every store keeps: one that comes as a module,\n"
    "such as map:{losses}, or any other on a server of your own. In the URL {run} becomes "
    "something\n"
    "that no other run has, and {losses} how often the suite has lost its data, so that the URL\n"
    "names other data then; without {losses} the laws about a loss are left out. The URL may "
    "stand\n"
    "in PAWL_CONFORMANCE_URL instead, where other users do not see it. Modules are looked for in\n"
    "the folders of PAWL_ENGINE_PATH.\n"
    "--processes: other processes reach the data by the URL too; four of them contend for a key.\n"
    "Options are those of GoogleTest, such as --gtest_filter=*Release*.\n";

// Of the laws chosen, only those of this suite.
void leave_out(const std::string& suite) {
    auto chosen = testing::GTEST_FLAG(filter);
    chosen += chosen.find('-') == std::string::npos ? "-" : ":";
    testing::GTEST_FLAG(filter) = chosen + suite + "/*";
}

}  // namespace

int main(int count, char** words) {
    testing::InitGoogleTest(&count, words);
    if (const auto status = pawl::conformance::contender_main({words, words + count}))
        return *status;
    bool processes = false;
    int urls = 0;
    bool unknown = false;
    for (int i = 1; i < count; ++i) {
        const std::string_view word = words[i];
        if (word == "--processes") {
            processes = true;
        } else if (word.starts_with('-')) {
            unknown = true;
        } else {
            setenv("PAWL_CONFORMANCE_URL", words[i], 1);
            ++urls;
        }
    }
    leave_out(processes ? "threads" : "processes");
    if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
    if (unknown || urls > 1 || std::getenv("PAWL_CONFORMANCE_URL") == nullptr) {
        std::cerr << usage;
        return usage_status;
    }
    return RUN_ALL_TESTS();
}
