// What a terminal may be given: text that neither takes it over nor deceives who reads it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pawl::base {

// Where something begins that takes a terminal over, or shows text in another order than it has: a
// control character (C0, DEL, C1, also as a byte of its own) or a bidirectional override; npos: no
// such thing.
std::size_t find_unprintable(std::string_view text);

// Where a character begins that is seen as nothing, so that two texts look alike: zero-width and
// joining characters, marks of direction, fillers, variation selectors, tags; npos: no such thing.
// Source: The Unicode Standard, Default_Ignorable_Code_Point (DerivedCoreProperties.txt).
std::size_t find_invisible(std::string_view text);

// The same JSON without such characters, each written as an escape of JSON.
// REQUIRES: JSON in UTF-8.
std::string escaped_json(std::string text);

// What a program has written, for a terminal: line ends and tabs stay, and all else that
// takes a terminal over or turns the order around is shown, as ^[ or <U+202E>. Takes it in pieces,
// which may end within a character.
class visible_text {
public:
    std::string show(std::string_view piece);
    // What is left of a character that was not brought to its end.
    std::string finish();

private:
    std::string pending_;
};

}  // namespace pawl::base
