// Which engines a program of laws has instantiated its suite for.
#pragma once

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace pawl::conformance {

inline std::set<std::string> words_of(const std::string& text) {
    std::istringstream words{text};
    return {std::istream_iterator<std::string>{words}, {}};
}

// The prefix that each instantiation of the suite was given: the name of an engine, and where an
// engine has several modes, "ENGINE_MODE" for each but the plainest.
inline std::set<std::string> instantiated(const std::string& suite,
                                          const std::set<std::string>& known) {
    std::set<std::string> engines;
    const auto& all = *testing::UnitTest::GetInstance();
    for (int i = 0; i < all.total_test_suite_count(); ++i) {
        const std::string name = all.GetTestSuite(i)->name();
        const auto end = name.find("/" + suite + "/");
        if (end == std::string::npos) continue;
        const auto prefix = name.substr(0, end);
        const auto engine = prefix.substr(0, prefix.find('_'));
        engines.insert(known.count(engine) == 1 ? engine : prefix);
    }
    return engines;
}

}  // namespace pawl::conformance
