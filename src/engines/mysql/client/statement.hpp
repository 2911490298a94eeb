// The text of a statement, and values that need no escaping.
//
// In a text, values are hexadecimal and decimal literals only, so that neither the sql_mode of the
// server nor its character set can give a text another meaning.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pawl::mysql {

// The bytes as a binary literal, such as x'6b6579'.
std::string literal(std::string_view bytes);

// The server's clock when a statement starts, in microseconds since the Unix epoch: in UTC whatever
// the time zone of the session is, and the same wherever it stands in one statement.
inline constexpr std::string_view server_clock =
    "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))";

// One of the .sql files: its comments gone, {now} replaced by server_clock, and the other names
// in braces ready to be bound.
class statement {
public:
    explicit statement(std::string_view file);

    using binding = std::pair<std::string_view, std::string_view>;
    // The text with each name replaced by its value. Aborts when a name is not bound.
    std::string with(std::initializer_list<binding> values) const {
        return fill({values.begin(), values.size()});
    }
    std::string fill(std::span<const binding> values) const;
    // The text with a question mark for each name, and the names in their order.
    std::string prepared() const;
    std::vector<std::string_view> names() const;

private:
    struct part {
        std::string text;  // before the name
        std::string name;  // empty at the end
    };
    std::vector<part> parts_;
    std::size_t size_ = 0;  // about that of a text
};

// A statement that is the same but for its values, so that a server parses it once a connection. No
// rows answer it.
struct prepared_call {
    using value = std::variant<std::string, std::int64_t>;  // bytes, or a number

    const statement* of = nullptr;  // which must stay for as long as connections do
    std::vector<std::pair<std::string_view, value>> values;

    const value& find(std::string_view name) const;
    // For a server that does not prepare it.
    std::string text() const;
};

}  // namespace pawl::mysql
