// What the tests of this module share.
#pragma once

#include "config/reading.hpp"
#include "test_support/folder.hpp"

#include <stdexcept>
#include <string>

namespace pawl::config {

using testing_files::test_folder;

// The one fault of a text, as it is shown; empty when there is none.
inline std::string only_fault(const std::string& text) {
    const auto read = read_configuration(text, "f");
    const auto lines = describe(read);
    if (lines.size() > 1) throw std::runtime_error{"several faults: " + lines[0] + lines[1]};
    return lines.empty() ? "" : lines[0];
}

// The settings of a text that has no fault.
inline settings read_whole(const std::string& text) {
    auto read = read_configuration(text, "f");
    if (!read.usable()) throw std::runtime_error{describe(read)[0]};
    return std::move(read.values);
}

}  // namespace pawl::config
