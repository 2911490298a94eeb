#include "base/argument_rule.hpp"

#include "base/digest.hpp"
#include "base/text.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace pawl::base {
namespace {

constexpr std::size_t quoted_bytes_max = 700;  // with a digest less than a journal keeps

// Whether it may lead out of the folder that it begins with: "..", between what parts paths, or the
// value of an option from its name.
bool leads_upward(std::string_view text) {
    constexpr std::string_view ends = "/=:,";
    for (auto at = text.find(".."); at != std::string_view::npos; at = text.find("..", at + 1)) {
        const auto after = at + 2;
        const bool begins = at == 0 || ends.find(text[at - 1]) != std::string_view::npos;
        const bool is_finished =
            after == text.size() || ends.find(text[after]) != std::string_view::npos;
        if (begins && is_finished) return true;
    }
    return false;
}

// A '*' stands for a '/' as well, as where a shell matches words: --url=* is any URL. So it must
// not stand for a "..", or /data/* would be /data/../etc/passwd.
bool is_match(const std::string& pattern, const std::string& argument) {
    return fnmatch(pattern.c_str(), argument.c_str(), 0) == 0 &&
           (!leads_upward(argument) || leads_upward(pattern));
}

}  // namespace

std::optional<std::string> argument_fault(const argument_rule& rule, const std::string& job,
                                          const std::vector<std::string>& arguments) {
    if (rule.any || arguments.empty()) return std::nullopt;
    const auto whose = " for job '" + printable(job) + "'";
    if (rule.patterns.empty())
        return "no arguments are allowed" + whose + " (arguments = false in its configuration)";
    for (const auto& one : arguments) {
        const bool allowed = std::any_of(rule.patterns.begin(), rule.patterns.end(),
                                         [&](const auto& each) { return is_match(each, one); });
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
    }
    if (line.size() <= quoted_bytes_max) return printable(line);
    // What is not shown is known by its digest: printf '%s\0' WORD… | sha256sum
    std::string all;
    for (const auto& one : words) all.append(one).push_back('\0');
    return "(" + std::to_string(words.size()) + " of " + std::to_string(all.size() - words.size()) +
           " bytes, sha256 " + sha256_hex(all) + ") " +
           printable(line.substr(0, quoted_bytes_max)) + "…";
}

}  // namespace pawl::base
