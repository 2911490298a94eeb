#include "engines/dynamodb/store/error_mapping.hpp"

#include "base/text.hpp"

#include <boost/json/parse.hpp>

namespace pawl::dynamodb {
namespace {

std::string member(const boost::json::object& of, std::string_view name) {
    const auto* value = of.if_contains(name);
    return value != nullptr && value->is_string() ? std::string{value->get_string()}
                                                  : std::string{};
}

}  // namespace

rejection read_rejection(unsigned status, std::string_view body) {
    rejection read;
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
