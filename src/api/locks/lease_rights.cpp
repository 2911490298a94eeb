#include "api/locks/lease_rights.hpp"

#include "api/request/problem.hpp"
#include "base/percent.hpp"
#include "base/reserved_names.hpp"
#include "base/text.hpp"

namespace pawl::api {
namespace {

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
    if (!base::is_reserved_name(key)) return std::nullopt;
    return problem(403, "'" + base::printable(key) +
                            "' is reserved: names under job/ and pawl/ are pawl's own, and need "
                            "the role admin; use another name");
}

}  // namespace pawl::api
