// The kinds of fields that the lists in fields.cpp are made of.
#pragma once

#include "base/duration.hpp"
#include "config/fields.hpp"
#include "config/size.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::config {

template <class T, class Value>
auto same_member(Value T::* member) {
    return [member](const T& left, const T& right) { return left.*member == right.*member; };
}

// `read_one(reader, value)` returns the value of the member, or nothing once it has told why.
template <class T, class Value, class Read>
field<T> make_field(std::string name, Value T::* member, std::string type, std::string fallback,
                    std::string bound, Read read_one) {
    const auto read = [member, read_one](const value_reader& reader, const toml::node& value,
                                         T& into) {
        // NOLINTNEXTLINE(bugprone-optional-value-conversion): of some members, not of all
        if (auto got = read_one(reader, value)) into.*member = std::move(*got);
    };
    return {std::move(name),    std::move(type), std::move(fallback), std::move(bound), read,
            same_member(member)};
}

template <class T>
field<T> boolean_field(std::string name, bool T::* member, std::string fallback) {
    return make_field(
        std::move(name), member, "boolean", std::move(fallback), "",
        [](const value_reader& reader, const toml::node& value) { return reader.boolean(value); });
}

template <class T, class Value>
field<T> integer_field(std::string name, Value T::* member, std::string fallback,
                       std::int64_t least, std::int64_t most) {
    return make_field(std::move(name), member, "integer", std::move(fallback),
                      format_count(least) + " to " + format_count(most),
                      [least, most](const value_reader& reader, const toml::node& value) {
                          return reader.integer(value, least, most);
                      });
}

template <class T>
field<T> number_field(std::string name, double T::* member, std::string fallback, double least,
                      double most) {
    return make_field(std::move(name), member, "number", std::move(fallback),
                      format_number(least) + " to " + format_number(most),
                      [least, most](const value_reader& reader, const toml::node& value) {
                          return reader.number(value, least, most);
                      });
}

template <class T, class Value>
field<T> duration_field(std::string name, Value T::* member, std::string fallback, millis least,
                        millis most) {
    return make_field(std::move(name), member, "duration", std::move(fallback),
                      base::format_duration(least) + " to " + base::format_duration(most),
                      [least, most](const value_reader& reader, const toml::node& value) {
                          return reader.duration(value, least, most);
                      });
}

template <class T, class Value>
field<T> size_field(std::string name, Value T::* member, std::string fallback, std::int64_t most) {
    return make_field(
        std::move(name), member, "size", std::move(fallback),
        most == no_limit ? "0 or more, or \"unlimited\"" : "0 to " + format_size(most),
        [most](const value_reader& reader, const toml::node& value) {
            return reader.size(value, most);
        });
}

// A number, or "unlimited".
template <class T>
field<T> count_field(std::string name, std::optional<std::int64_t> T::* member) {
    return make_field(std::move(name), member, "integer", "", "0 or more, or \"unlimited\"",
                      [](const value_reader& reader, const toml::node& value) {
                          return value.is_string() ? reader.size(value, no_limit)
                                                   : reader.integer(value, 0, no_limit);
                      });
}

// The same key under the name that it had before.
template <class T>
field<T> spelled_before(std::string name, field<T> now) {
    now.before = std::move(name);
    return now;
}

// The names stand in the order of the enumerators.
template <class T, class Enum>
field<T> choice_field(std::string name, Enum T::* member, std::string fallback,
                      std::vector<std::string_view> names) {
    std::string bound;
    for (const auto one : names) bound += (bound.empty() ? "\"" : ", \"") + std::string{one} + '"';
    return make_field(std::move(name), member, "choice", std::move(fallback), bound,
                      [names](const value_reader& reader, const toml::node& value) {
                          const auto at = reader.choice(value, names);
                          return at ? std::optional{static_cast<Enum>(*at)} : std::nullopt;
                      });
}

template <class T>
field<T> text_field(std::string name, std::string T::* member, std::string fallback,
                    std::string bound = "") {
    return make_field(
        std::move(name), member, "text", std::move(fallback), std::move(bound),
        [](const value_reader& reader, const toml::node& value) { return reader.text(value); });
}

template <class T>
field<T> text_field(std::string name, std::string T::* member, std::string fallback,
                    std::string bound, text_rule rule) {
    return make_field(std::move(name), member, "text", std::move(fallback), std::move(bound),
                      [rule](const value_reader& reader, const toml::node& value) {
                          return reader.text(value, rule);
                      });
}

// A table within a table, which changes only what it names.
template <class T, class Inner>
field<T> table_field(std::string name, Inner T::* member, const field_list<Inner>& inner) {
    const auto read = [member, &inner](const value_reader& reader, const toml::node& value,
                                       T& into) {
        const auto* table = value.as_table();
        if (table == nullptr)
            reader.add_wrong_type(value, "a table, such as { " + inner[0].name + " = … }");
        else
            read_table(reader.scope(), *table, reader.key() + ".", inner, into.*member);
    };
    return {std::move(name), "table", "", "", read, same_member(member)};
}

}  // namespace pawl::config
