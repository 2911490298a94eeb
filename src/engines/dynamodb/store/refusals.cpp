#include "engines/dynamodb/store/refusals.hpp"

#include "base/text.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <array>

namespace pawl::dynamodb {
namespace {

constexpr std::size_t quoted_max = 300;

template <std::size_t Size>
bool is_any(std::string_view type, const std::array<std::string_view, Size>& of) {
    return std::find(of.begin(), of.end(), type) != of.end();
}

// Told before anything was done.
constexpr std::array<std::string_view, 8> too_much{"ThrottlingException",
                                                   "Throttling",
                                                   "ProvisionedThroughputExceededException",
                                                   "RequestLimitExceeded",
                                                   "LimitExceededException",
                                                   "TransactionConflictException",
                                                   "TransactionInProgressException",
                                                   "RequestThrottledException"};
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
constexpr std::array<std::string_view, 2> unknown_here{"UnknownOperationException",
                                                       "UnsupportedOperationException"};

std::string member(const boost::json::object& of, std::string_view name) {
    const auto* value = of.if_contains(name);
    return value != nullptr && value->is_string() ? std::string{value->get_string()}
                                                  : std::string{};
}

std::string quoted(const refusal& what) {
    const bool may_hold_secrets = what.type.find("Signature") != std::string::npos;
    if (what.message.empty() || may_hold_secrets) return what.type;
    return what.type + ": " + base::printable(what.message.substr(0, quoted_max));
}

}  // namespace

refusal read_refusal(unsigned status, std::string_view body) {
    refusal read;
    read.status = status;
    boost::system::error_code error;
    const auto parsed = boost::json::parse(body, error);
    const auto* object = error ? nullptr : parsed.if_object();
    if (object == nullptr) return read;
    const auto type = member(*object, "__type");
    read.type =
        base::printable(type.substr(type.find('#') == std::string::npos ? 0 : type.find('#') + 1));
    read.message = member(*object, "message");
    if (read.message.empty()) read.message = member(*object, "Message");
    return read;
}

failure explain_refusal(const std::string& place, const refusal& what, effect asked) {
    const auto says = [&](errc code) {
        return failure{code, place + ": " + (what.type.empty() ? "" : quoted(what) + ", ") +
                                 "status " + std::to_string(what.status)};
    };
    // A server that fails may have written before.
    if (what.status >= 500)
        return says(asked == effect::writes ? errc::outcome_unknown : errc::unreachable);
    if (is_any(what.type, too_much) || what.status == 429) return says(errc::unreachable);
    if (is_any(what.type, not_allowed) || what.status == 401 || what.status == 403)
        return says(errc::denied);
    if (is_any(what.type, unknown_here)) return says(errc::unsupported);
    if (what.type.empty())
        return {errc::protocol, place + ": this is no DynamoDB: status " +
                                    std::to_string(what.status) + " without an error of its own"};
    return says(errc::rejected);
}

failure explain_statement(const std::string& place, std::string_view code) {
    const auto says = [&](errc what) {
        return failure{what, place + ": " + base::printable(code) + " in a batch"};
    };
    if (code == "ThrottlingError" || code == "ProvisionedThroughputExceeded" ||
        code == "RequestLimitExceeded" || code == "TransactionConflict")
        return says(errc::unreachable);
    if (code == "AccessDenied") return says(errc::denied);
    if (code == "ValidationError" || code == "ResourceNotFound" ||
        code == "ItemCollectionSizeLimitExceeded")
        return says(errc::rejected);
    return says(errc::outcome_unknown);
}

}  // namespace pawl::dynamodb
