// The text of a configuration file, by line and column.
#pragma once

#include "config/findings.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::config {

// The parser recurses into both.
constexpr std::size_t nesting_max = 32;
constexpr std::size_t key_parts_max = 32;

// Refers to the text, which must outlive it.
class source_text {
public:
    explicit source_text(std::string_view text);

    // Where byte `offset` (from 0) of a string's value stands, given where its literal begins:
    // quotes, escapes and folded lines are counted as they are written.
    place inside(place literal, std::size_t offset) const;
    // Line and column of a byte of the text; columns count characters.
    place place_of(std::size_t byte) const;

private:
    std::size_t byte_of(place at) const;

    std::string_view text_;
    std::vector<std::size_t> lines_;  // where each begins
};

// What would take the parser deeper than its stack goes, found without recursion.
std::optional<fault> nesting_fault(std::string_view text);

// What the parser says is wrong, for people, and without what may be a secret.
std::string syntax_fault(std::string_view description);

}  // namespace pawl::config
