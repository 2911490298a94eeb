#include "engines/aws/client/error_mapping.hpp"

#include "base/text.hpp"
#include "net/https/statuses.hpp"

#include <algorithm>
#include <array>

namespace pawl::aws {
namespace {

constexpr std::size_t quoted_max = 300;

template <std::size_t Size>
bool is_any(std::string_view type, const std::array<std::string_view, Size>& of) {
    return std::find(of.begin(), of.end(), type) != of.end();
}

// Told before anything was done, unless the status is a server's failure: MinIO and others call a
// write so that they gave up half-way.
constexpr std::array<std::string_view, 11> too_much{"ThrottlingException",
                                                    "Throttling",
                                                    "ProvisionedThroughputExceededException",
                                                    "RequestLimitExceeded",
                                                    "LimitExceededException",
                                                    "TransactionConflictException",
                                                    "TransactionInProgressException",
                                                    "RequestThrottledException",
                                                    "SlowDown",
                                                    "TooManyRequests",
                                                    "RequestTimeout"};
constexpr std::array<std::string_view, 11> not_allowed{"AccessDeniedException",
                                                       "UnrecognizedClientException",
                                                       "MissingAuthenticationToken",
                                                       "IncompleteSignature",
                                                       "InvalidSignatureException",
                                                       "IncompleteSignatureException",
                                                       "ExpiredTokenException",
                                                       "InvalidClientTokenId",
                                                       "NotAuthorized",
                                                       "MissingAuthenticationTokenException",
                                                       "KMSAccessDeniedException"};
constexpr std::array<std::string_view, 3> unknown_here{
    "UnknownOperationException", "UnsupportedOperationException", "NotImplemented"};

std::string quoted(const rejection& what) {
    const bool may_hold_secrets = what.type.find("Signature") != std::string::npos;
    if (what.message.empty() || may_hold_secrets) return what.type;
    return what.type + ": " + base::printable(what.message.substr(0, quoted_max));
}

}  // namespace

failure explain_rejection(const std::string& place, std::string_view service, const rejection& what,
                          effect asked) {
    const auto says = [&](errc code) {
        return failure{code, place + ": " + (what.type.empty() ? "" : quoted(what) + ", ") +
                                 "status " + std::to_string(what.status)};
    };
    if (is_any(what.type, unknown_here)) return says(errc::unsupported);
    // A server that fails may have written before.
    if (net::is_undecided(what.status))
        return says(asked == effect::writes ? errc::outcome_unknown : errc::unreachable);
    if (is_any(what.type, too_much) || net::is_turned_away(what.status))
        return says(errc::unreachable);
    if (is_any(what.type, not_allowed) || what.status == 401 || what.status == 403)
        return says(errc::denied);
    if (what.type.empty())
        return {errc::protocol, place + ": this is not " + std::string{service} + ": status " +
                                    std::to_string(what.status) + " without an error of its own"};
    return says(errc::rejected);
}

}  // namespace pawl::aws
