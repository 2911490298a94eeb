#include "config/values.hpp"

#include "base/ascii.hpp"
#include "base/duration.hpp"
#include "base/text.hpp"
#include "config/size.hpp"

#include <algorithm>
#include <cmath>

namespace pawl::config {
namespace {

std::string_view name_of(toml::node_type type) {
    switch (type) {
        case toml::node_type::table:
            return "a table";
        case toml::node_type::array:
            return "an array";
        case toml::node_type::string:
            return "a text";
        case toml::node_type::integer:
            return "an integer";
        case toml::node_type::floating_point:
            return "a number";
        case toml::node_type::boolean:
            return "a boolean";
        default:
            return "a date or a time";
    }
}

std::string listed(const std::vector<std::string_view>& names) {
    std::string all;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i > 0) all += i + 1 == names.size() ? " or " : ", ";
        all += '"' + std::string{names[i]} + '"';
    }
    return all;
}

std::optional<base::text_fault> plain_text_fault(std::string_view text) {
    const auto zero = text.find('\0');
    if (zero != std::string_view::npos)
        return base::text_fault{zero, "has a NUL byte; programs cannot be given one"};
    if (text.size() > text_bytes_max)
        return base::text_fault{0, "has " + format_count(static_cast<std::int64_t>(text.size())) +
                                       " bytes; at most " + format_count(text_bytes_max)};
    return std::nullopt;
}

}  // namespace

place place_of(const toml::source_position& at) { return {at.line, at.column}; }

place place_of(const toml::node& value) { return place_of(value.source().begin); }

std::string format_number(double value) {
    std::string text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
}

std::optional<std::string> variable_name_fault(std::string_view name) {
    const auto is_allowed = [](char c) { return base::is_alphanumeric(c) || c == '_'; };
    if (name.empty() || base::is_digit(name[0]) ||
        !std::all_of(name.begin(), name.end(), is_allowed))
        return "the variable " + quoted(name) +
               " is not a name; expected letters, digits and '_', and no digit first";
    if (name.starts_with("PAWL_"))
        return "the variable " + quoted(name) +
               " would hide one of pawl's own; choose a name that does not begin with PAWL_";
    return std::nullopt;
}

void value_reader::add_fault(const toml::node& value, const std::string& what) const {
    scope_.found.add_fault(place_of(value), key_ + " " + what);
}

void value_reader::add_fault(const toml::node& value, const base::text_fault& inside) const {
    const place literal = place_of(value);
    const place at =
        scope_.found.has_plenty() ? literal : scope_.source.inside(literal, inside.column);
    scope_.found.add_fault(at, key_ + " " + inside.what);
}

void value_reader::add_wrong_type(const toml::node& value, std::string_view right) const {
    add_fault(value,
              "is " + std::string{name_of(value.type())} + "; expected " + std::string{right});
}

std::optional<bool> value_reader::boolean(const toml::node& value) const {
    const auto* found = value.as_boolean();
    if (found != nullptr) return found->get();
    add_wrong_type(value, "true or false, without quotes");
    return std::nullopt;
}

std::optional<std::int64_t> value_reader::integer(const toml::node& value, std::int64_t least,
                                                  std::int64_t most) const {
    const auto* found = value.as_integer();
    const std::string range = format_count(least) + " to " + format_count(most);
    if (found == nullptr) {
        add_wrong_type(value, "an integer from " + range + ", without quotes");
        return std::nullopt;
    }
    if (found->get() >= least && found->get() <= most) return found->get();
    add_fault(value, "is " + std::to_string(found->get()) + "; expected " + range);
    return std::nullopt;
}

std::optional<double> value_reader::number(const toml::node& value, double least,
                                           double most) const {
    const auto found = value.is_number() ? value.value<double>() : std::nullopt;
    const std::string range = format_number(least) + " to " + format_number(most);
    if (!found) {
        add_wrong_type(value, "a number from " + range + ", without quotes");
        return std::nullopt;
    }
    if (*found >= least && *found <= most) return found;
    add_fault(value, "is " + (std::isfinite(*found) ? format_number(*found) : "not finite") +
                         "; expected " + range);
    return std::nullopt;
}

std::optional<millis> value_reader::duration(const toml::node& value, millis least,
                                             millis most) const {
    const auto* found = value.as_string();
    if (found == nullptr) {
        add_wrong_type(value, "a duration in quotes, such as \"30s\" or \"1h30m\"");
        return std::nullopt;
    }
    const auto read = base::parse_duration(found->get());
    if (read.has_error()) {
        add_fault(value, {read.error().column, "is not a duration: " + read.error().what});
        return std::nullopt;
    }
    if (*read >= least && *read <= most) return *read;
    add_fault(value, "is " + base::format_duration(*read) + "; expected " +
                         base::format_duration(least) + " to " + base::format_duration(most));
    return std::nullopt;
}

std::optional<std::int64_t> value_reader::size(const toml::node& value, std::int64_t most) const {
    std::int64_t bytes = -1;
    if (const auto* number = value.as_integer()) {
        bytes = number->get();
    } else if (const auto* found = value.as_string()) {
        if (found->get() == "unlimited" && most == no_limit) return no_limit;
        const auto read = parse_size(found->get());
        if (read.has_error()) {
            add_fault(value, {read.error().column, "is not a size: " + read.error().what});
            return std::nullopt;
        }
        bytes = *read;
    } else {
        add_wrong_type(value, "a size in quotes, such as \"64KiB\" or \"1MiB\"");
        return std::nullopt;
    }
    if (bytes >= 0 && bytes <= most) return bytes;
    add_fault(value, most == no_limit ? "is negative; expected 0 or more"
                                      : "is " + format_count(bytes) + " bytes; expected 0 to " +
                                            format_size(most));
    return std::nullopt;
}

std::optional<std::uint32_t> value_reader::file_mode(const toml::node& value) const {
    constexpr std::string_view right = "octal digits in quotes, such as \"027\"";
    std::int64_t mode = 0;
    if (const auto* number = value.as_integer()) {
        if ((number->flags() & toml::value_flags::format_as_octal) == toml::value_flags::none) {
            add_fault(value, "is a decimal number; expected " + std::string{right});
            return std::nullopt;
        }
        mode = number->get();
    } else if (const auto* found = value.as_string()) {
        const std::string& digits = found->get();
        const auto bad = digits.find_first_not_of("01234567");
        if (digits.empty() || digits.size() > 4 || bad != std::string::npos) {
            add_fault(value, {bad == std::string::npos ? 0 : bad,
                              "is not a file mode; expected " + std::string{right}});
            return std::nullopt;
        }
        for (const char digit : digits) mode = mode * 8 + (digit - '0');
    } else {
        add_wrong_type(value, right);
        return std::nullopt;
    }
    if (mode >= 0 && mode <= 0777) return static_cast<std::uint32_t>(mode);
    add_fault(value,
              "is above 0777; it takes permissions away: \"027\" those of others to all, "
              "and of the group to write");
    return std::nullopt;
}

std::optional<std::size_t> value_reader::choice(const toml::node& value,
                                                const std::vector<std::string_view>& names) const {
    const auto* found = value.as_string();
    if (found == nullptr) {
        add_wrong_type(value, listed(names));
        return std::nullopt;
    }
    const auto at = std::find(names.begin(), names.end(), found->get());
    if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
    add_fault(value, "is " + quoted(found->get()) + "; expected " + listed(names));
    return std::nullopt;
}

std::optional<std::string> value_reader::text(const toml::node& value) const {
    return text(value, plain_text_fault);
}

std::optional<std::string> value_reader::text(const toml::node& value,
                                              const text_rule& rule) const {
    const auto* found = value.as_string();
    if (found == nullptr) {
        add_wrong_type(value, "a text in quotes");
        return std::nullopt;
    }
    auto bad = plain_text_fault(found->get());
    if (!bad) bad = rule(found->get());
    if (!bad) return found->get();
    add_fault(value, *bad);
    return std::nullopt;
}

std::optional<std::vector<std::string>> value_reader::arguments(const toml::node& value) const {
    const auto* found = value.as_array();
    if (found == nullptr) {
        add_wrong_type(value, "an array of texts, such as [\"/bin/sh\", \"-c\", \"echo hello\"]");
        return std::nullopt;
    }
    if (found->empty() || found->size() > arguments_max) {
        add_fault(value, found->empty() ? "is empty; name a program, such as [\"/bin/true\"]"
                                        : "has more than " + format_count(arguments_max) +
                                              " arguments; pass a file instead");
        return std::nullopt;
    }
    std::vector<std::string> all;
    const auto before = scope_.found.fault_count();
    for (const toml::node& one : *found) {
        if (const auto argument = text(one)) all.push_back(*argument);
    }
    if (scope_.found.fault_count() != before) return std::nullopt;
    if (!all[0].empty()) return all;
    add_fault((*found)[0], "has no program as its first text; name one, such as \"/bin/true\"");
    return std::nullopt;
}

std::optional<base::argument_rule> value_reader::argument_rule(const toml::node& value) const {
    base::argument_rule rule;
    if (const auto* all_or_none = value.as_boolean()) {
        rule.any = all_or_none->get();
        return rule;
    }
    const auto* found = value.as_array();
    if (found == nullptr || found->size() > arguments_max) {
        add_wrong_type(value, "true, false, or patterns such as [\"--day=*\"]");
        return std::nullopt;
    }
    const auto before = scope_.found.fault_count();
    for (const toml::node& one : *found)
        if (auto pattern = text(one)) rule.patterns.push_back(std::move(*pattern));
    if (scope_.found.fault_count() != before) return std::nullopt;
    return rule;
}

std::optional<std::map<std::string, std::string>> value_reader::variables(
    const toml::node& value) const {
    const auto* found = value.as_table();
    if (found == nullptr) {
        add_wrong_type(value, "a table of texts, such as { MODE = \"full\" }");
        return std::nullopt;
    }
    if (found->size() > variables_max) {
        add_fault(value, "has more than " + format_count(variables_max) + " variables");
        return std::nullopt;
    }
    std::map<std::string, std::string> all;
    for (const auto& [name, one] : *found) {
        const value_reader reader{scope_, key_ + "." + std::string{name.str()}};
        if (const auto bad = variable_name_fault(name.str()))
            scope_.found.add_fault(place_of(name.source().begin), *bad);
        else if (const auto* words = one.as_string(); words == nullptr)
            reader.add_wrong_type(one, "a text in quotes: a variable is nothing else");
        else if (const auto content = reader.text(one))
            all[std::string{name.str()}] = *content;
    }
    return all;
}

}  // namespace pawl::config
