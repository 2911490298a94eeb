// What the JSON of a job's definition says, as far as journals go by it. They look for its text, as
// those in SQL and Lua do, and no text in it can read so: there its quotes are escaped.
#pragma once

#include <string_view>

namespace pawl::base {

constexpr bool tells(std::string_view definition, std::string_view text) {
    return definition.find(text) != std::string_view::npos;
}

constexpr bool is_enabled(std::string_view definition) {
    return !tells(definition, R"("enabled":false)");
}

// Whether a job's keys are slots, which take turns, and not partitions, of which each has its turn
// every time. A definition that does not say has none.
constexpr bool has_slots(std::string_view definition) {
    return tells(definition, R"("slots":)") && !tells(definition, R"("slots":1,)") &&
           !tells(definition, R"("slots":1})");
}

}  // namespace pawl::base
