#include <pawl/errors.hpp>

#include "base/ensure.hpp"

#include <cstdio>
#include <cstdlib>

namespace pawl {

std::string_view name_of(errc code) noexcept {
    switch (code) {
        case errc::unreachable:
            return "unreachable";
        case errc::outcome_unknown:
            return "outcome_unknown";
        case errc::denied:
            return "denied";
        case errc::rejected:
            return "rejected";
        case errc::protocol:
            return "protocol";
        case errc::unsupported:
            return "unsupported";
        case errc::closed:
            return "closed";
    }
    return "unknown";
}

bool may_pass(errc code) noexcept {
    return code == errc::unreachable || code == errc::outcome_unknown;
}

bool is_outage(const failure& why) noexcept { return may_pass(why.code) && !why.answered; }

store_error::store_error(failure what)
    : std::runtime_error{what.detail}, code_{what.code}, is_outage_{pawl::is_outage(what)} {}

void throw_exception_from_error(const failure& what, const boost::source_location&) {
    throw store_error{what};
}

}  // namespace pawl

namespace pawl::base {

void violated(const std::source_location& where) noexcept {
    std::fprintf(stderr, "pawl: broken invariant at %s:%u in %s\n", where.file_name(), where.line(),
                 where.function_name());
    std::abort();
}

void misused(const char* how) noexcept {
    std::fprintf(stderr, "pawl: %s\n", how);
    std::abort();
}

}  // namespace pawl::base
