// A page of metrics as tests read it: every series with its value.
#pragma once

#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

namespace pawl::testing_metrics {

// By "name{labels}", as the page has it. One that is there twice is a fault of the page.
inline std::map<std::string, double> series_of(const std::string& text) {
    std::map<std::string, double> all;
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line.front() == '#') continue;
        const auto space = line.rfind(' ');
        if (space == std::string::npos) throw std::runtime_error{"no value: " + line};
        const auto name = line.substr(0, space);
        if (!all.emplace(name, std::stod(line.substr(space + 1))).second)
            throw std::runtime_error{"twice: " + name};
    }
    return all;
}

// Of one series; throws where it is not.
inline double value_of(const std::string& text, const std::string& series) {
    const auto all = series_of(text);
    const auto found = all.find(series);
    if (found == all.end()) throw std::runtime_error{"there is no " + series};
    return found->second;
}

inline bool has(const std::string& text, const std::string& series) {
    return series_of(text).count(series) == 1;
}

}  // namespace pawl::testing_metrics
