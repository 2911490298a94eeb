// What a key, an owner and a namespace may look like, and text that is safe to print.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::base {

// Each returns what is wrong and what would be right in one line, or nothing.
std::optional<std::string> key_fault(std::string_view key);
std::optional<std::string> owner_fault(std::string_view owner);
std::optional<std::string> name_space_fault(std::string_view name);

// For a terminal or a log: control characters become '?', and invisible ones such as <U+200B>.
std::string printable(std::string_view text);

// The candidate nearest to a misspelt word, if one is near enough to be meant.
std::optional<std::string_view> nearest(std::string_view word,
                                        const std::vector<std::string_view>& candidates);

}  // namespace pawl::base
