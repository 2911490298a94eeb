// What tests of both schemas ask of their scripts.
#pragma once

#include "base/digest.hpp"
#include "engines/postgresql/client/layout.hpp"

#include <sstream>
#include <string>

namespace pawl::postgresql {

// A database is brought up only where it lacks the plan's newest function. So what has changed in a
// script gets there under a new name alone: this text changes with the script, comments apart, and
// a test that has it says so.
inline std::string newest_and_digest(const layout_plan& plan) {
    std::istringstream script{std::string{plan.script}};
    std::string code, line;
    while (std::getline(script, line))
        if (line.find_first_not_of(' ') != line.find("--")) code += line + '\n';
    return std::string{plan.newest} + ' ' + base::sha256_hex(code).substr(0, 16);
}

}  // namespace pawl::postgresql
