// From one value of the file to one field: its type, its form and its bounds.
#pragma once

#include "base/argument_rule.hpp"
#include "config/findings.hpp"
#include "config/size.hpp"
#include "config/source_text.hpp"

#include <pawl/types.hpp>

#include <toml++/toml.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::config {

constexpr std::size_t text_bytes_max = 64u << 10;
constexpr std::size_t arguments_max = 10'000;
constexpr std::size_t variables_max = 10'000;

// Written "unlimited".
constexpr std::int64_t no_limit = INT64_MAX;

place place_of(const toml::source_position& at);
place place_of(const toml::node& value);

// What a text has to be like; the fault has the byte at which it is not.
using text_rule = std::function<std::optional<base::text_fault>(std::string_view)>;

// Where the keys of a table stand, by their dotted names.
using origins = std::map<std::string, place, std::less<>>;

// What reading a table needs beside its values.
struct reading_scope {
    const source_text& source;
    findings& found;
    origins& keys;
    std::string_view section;  // as the file writes it, such as "[[job]]"
};

// Reads the value of one key. Each method tells the findings what is wrong, and then returns
// nothing. No value is quoted in a fault unless its key is harmless.
class value_reader {
public:
    value_reader(const reading_scope& scope, std::string key)
        : scope_{scope}, key_{std::move(key)} {}

    std::optional<bool> boolean(const toml::node& value) const;
    std::optional<std::int64_t> integer(const toml::node& value, std::int64_t least,
                                        std::int64_t most) const;
    std::optional<double> number(const toml::node& value, double least, double most) const;
    std::optional<millis> duration(const toml::node& value, millis least, millis most) const;
    // "1MiB", or a number of bytes.
    std::optional<std::int64_t> size(const toml::node& value, std::int64_t most) const;
    // "027", or 0o27.
    std::optional<std::uint32_t> file_mode(const toml::node& value) const;
    std::optional<std::size_t> choice(const toml::node& value,
                                      const std::vector<std::string_view>& names) const;
    std::optional<std::string> text(const toml::node& value) const;
    std::optional<std::string> text(const toml::node& value, const text_rule& rule) const;
    std::optional<std::vector<std::string>> arguments(const toml::node& value) const;
    // true, false, or patterns.
    std::optional<base::argument_rule> argument_rule(const toml::node& value) const;
    // Sorted by name.
    std::optional<std::map<std::string, std::string>> variables(const toml::node& value) const;

    void add_fault(const toml::node& value, const std::string& what) const;
    void add_fault(const toml::node& value, const base::text_fault& inside) const;
    // "KEY is an integer; expected WHAT".
    void add_wrong_type(const toml::node& value, std::string_view right) const;

    const reading_scope& scope() const noexcept { return scope_; }
    const std::string& key() const noexcept { return key_; }

private:
    const reading_scope& scope_;
    std::string key_;
};

// A name that a variable of the environment may have here; PAWL_ is taken.
std::optional<std::string> variable_name_fault(std::string_view name);

std::string format_number(double value);

}  // namespace pawl::config
