// Which handler a path belongs to.
//
// Patterns are paths with {names}: {name} stands for one segment, {name*} for one or more with the
// slashes between them, and at most one such stands in a pattern. Values are percent-decoded and
// never empty, so that a key such as job/a may come as job%2Fa and as job/a.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pawl::http {

using parameters = std::map<std::string, std::string, std::less<>>;

struct matched {
    std::size_t route = 0;  // its place in the order of add()
    parameters values;
};
struct no_such_path {};
struct no_such_method {
    std::vector<std::string> allowed;  // sorted; HEAD wherever GET is
};
struct bad_path {
    std::string why;  // one line
};
using match = std::variant<matched, no_such_path, no_such_method, bad_path>;

// Const after its last add().
class router {
public:
    // REQUIRES: the pattern begins with '/', its names differ, and the pair is new.
    void add(std::string method, std::string_view pattern);
    // Among the patterns of that method the leftmost difference decides: a literal segment wins
    // over {name}, which wins over {name*}. HEAD is answered by GET.
    match find(std::string_view method, std::string_view path) const;

private:
    enum class what { literal, one, rest };  // from the most to the least particular
    struct segment {
        what kind = what::literal;
        std::string text;

        bool operator==(const segment&) const = default;
    };
    struct entry {
        std::string method;
        std::vector<segment> segments;
    };
    using decoded_path = std::vector<std::string>;

    static segment segment_of(std::string_view text);
    static std::size_t taken_by_rest(const entry& pattern, const decoded_path& path);
    static bool fits(const entry& pattern, const decoded_path& path);
    static bool wins(const entry& one, const entry& other);
    static parameters values_of(const entry& pattern, const decoded_path& path);

    std::vector<entry> entries_;
};

// The pairs of a query string or a form, decoded; the last of a name wins. Nothing when an escape
// is broken, or what it stands for is not UTF-8, or holds a control character.
// '+' is a space.
std::optional<parameters> parse_query(std::string_view text);
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace pawl::http
