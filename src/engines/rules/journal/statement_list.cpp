#include "engines/rules/journal/statement_list.hpp"

#include "base/ensure.hpp"

#include <string>

namespace pawl::journals {

std::string_view statement_named(std::string_view text, std::string_view name) {
    const auto line = "-- name: " + std::string{name} + "\n";
    const auto at = text.find(line);
    base::ensure(at != std::string_view::npos);
    const auto rest = text.substr(at + line.size());
    return rest.substr(0, rest.find("\n\n"));
}

}  // namespace pawl::journals
