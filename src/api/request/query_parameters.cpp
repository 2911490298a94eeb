#include "api/request/query_parameters.hpp"

#include "api/request/problem.hpp"
#include "base/comma_list.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace pawl::api {

std::optional<http::response> query_fault(const call& asked,
                                          std::initializer_list<std::string_view> known) {
    for (const auto& [name, value] : asked.query) {
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        const std::string what = "there is no parameter '" + base::printable(name) + "'";
        if (known.size() == 0) return problem(400, what + ": this takes none");
        if (const auto meant = base::nearest(name, {known}))
            return problem(400, what + ": did you mean '" + std::string{*meant} + "'?");
        return problem(400, what + ": there are " + base::comma_list(known));
    }
    return std::nullopt;
}

std::variant<std::int64_t, http::response> integer_of(const call& asked, std::string_view name,
                                                      std::int64_t least, std::int64_t most,
                                                      std::int64_t otherwise) {
    const auto found = asked.query.find(name);
    if (found == asked.query.end()) return otherwise;
    const auto& text = found->second;
    if (const auto value = base::parse_number_within(text, least, most)) return *value;
    return problem(400, std::string{name} + " is '" + base::printable(text) +
                            "'; expected an integer from " + std::to_string(least) + " to " +
                            std::to_string(most));
}

}  // namespace pawl::api
