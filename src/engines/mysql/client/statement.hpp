// The text of a statement, and values that need no escaping.
//
// Values are hexadecimal and decimal literals only, so that neither the sql_mode of the server nor
// its character set can give a text another meaning.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
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
    std::string with(std::initializer_list<binding> values) const;

private:
    struct part {
        std::string text;  // before the name
        std::string name;  // empty at the end
    };
    std::vector<part> parts_;
    std::size_t size_ = 0;  // about that of a text
};

}  // namespace pawl::mysql
