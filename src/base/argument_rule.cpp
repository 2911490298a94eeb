#include "base/argument_rule.hpp"

#include "base/text.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cstddef>

namespace pawl::base {
namespace {

constexpr std::size_t quoted_bytes_max = 4096;

}  // namespace

std::optional<std::string> argument_fault(const argument_rule& rule, const std::string& job,
                                          const std::vector<std::string>& arguments) {
    if (rule.any || arguments.empty()) return std::nullopt;
    const auto whose = " for job '" + printable(job) + "'";
    if (rule.patterns.empty())
        return "no arguments are allowed" + whose + " (arguments = false in its configuration)";
    for (const auto& one : arguments) {
        const bool allowed = std::any_of(
            rule.patterns.begin(), rule.patterns.end(),
            [&](const auto& each) { return fnmatch(each.c_str(), one.c_str(), 0) == 0; });
        // What lies behind a zero byte would go unseen.
        if (allowed && one.find('\0') == std::string::npos) continue;
        std::string line =
            "argument '" + printable(one) + "' is not allowed" + whose + "; expected ";
        for (const auto& each : rule.patterns)
            line += (&each == rule.patterns.data() ? "'" : " or '") + printable(each) + "'";
        return line;
    }
    return std::nullopt;
}

std::string quoted_words(const std::vector<std::string>& words) {
    std::string line;
    for (const auto& one : words) {
        line += line.empty() ? "'" : " '";
        for (const char letter : one)
            if (letter == '\'')
                line += "'\\''";
            else
                line += letter;
        line += '\'';
        if (line.size() > quoted_bytes_max)
            return printable(line.substr(0, quoted_bytes_max)) + "…";
    }
    return printable(line);
}

}  // namespace pawl::base
