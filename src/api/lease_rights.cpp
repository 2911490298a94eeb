#include "api/lease_rights.hpp"

#include "api/problem.hpp"
#include "base/percent.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace pawl::api {
namespace {

constexpr std::array<std::string_view, 2> reserved_prefixes{"job/", "pawl/"};

// Without an '@' of its own, which ends it: no user's is the beginning of another's.
std::string mark_of(const caller& who) {
    return base::percent_encode(who.name, [](char one) { return one != '@' && one != '%'; }) + '@';
}

}  // namespace

std::string owner_text(const caller& who, std::string_view text) {
    auto mark = mark_of(who);
    return text.starts_with(mark) ? std::string{text} : mark.append(text);
}

bool is_owned_by(std::string_view owner, const caller& who) {
    return owner.starts_with(mark_of(who));
}

std::optional<http::response> reserved_fault(std::string_view key, const caller& who) {
    if (who.role == config::user_role::admin) return std::nullopt;
    const bool is_reserved =
        std::any_of(reserved_prefixes.begin(), reserved_prefixes.end(),
                    [&](std::string_view prefix) { return key.starts_with(prefix); });
    if (!is_reserved) return std::nullopt;
    return problem(403, "'" + base::printable(key) +
                            "' is reserved: names under job/ and pawl/ are pawl's own, and need "
                            "the role admin; use another name");
}

}  // namespace pawl::api
