#include "engines/aws/client/refusals.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace pawl::aws {
namespace {

constexpr std::size_t quoted_max = 300;

template <std::size_t Size>
bool is_any(std::string_view type, const std::array<std::string_view, Size>& of) {
    return std::find(of.begin(), of.end(), type) != of.end();
}

// Told before anything was done.
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

std::string quoted(const refusal& what) {
    const bool may_hold_secrets = what.type.find("Signature") != std::string::npos;
    if (what.message.empty() || may_hold_secrets) return what.type;
    return what.type + ": " + base::printable(what.message.substr(0, quoted_max));
}

}  // namespace

failure explain_refusal(const std::string& place, std::string_view service, const refusal& what,
                        effect asked) {
    const auto says = [&](errc code) {
        return failure{code, place + ": " + (what.type.empty() ? "" : quoted(what) + ", ") +
                                 "status " + std::to_string(what.status)};
    };
    if (is_any(what.type, too_much) || what.status == 429) return says(errc::unreachable);
    if (is_any(what.type, unknown_here)) return says(errc::unsupported);
    // A server that fails may have written before.
    if (what.status >= 500)
        return says(asked == effect::writes ? errc::outcome_unknown : errc::unreachable);
    if (is_any(what.type, not_allowed) || what.status == 401 || what.status == 403)
        return says(errc::denied);
    if (what.type.empty())
        return {errc::protocol, place + ": this is no " + std::string{service} + ": status " +
                                    std::to_string(what.status) + " without an error of its own"};
    return says(errc::rejected);
}

}  // namespace pawl::aws
