#include "engines/aws/client/service.hpp"

#include "base/xml.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::aws {
namespace {

// The code and the words of a rejection. Not all of its body: that of a condition which did not
// hold has the record in it, whose owner may be called "ExpiredToken".
std::string reason_of(const std::string& body) {
    boost::system::error_code error;
    const auto parsed = boost::json::parse(body, error);
    const auto* object = error ? nullptr : parsed.if_object();
    if (object == nullptr)
        return base::text_in(body, "Code") + " " + base::text_in(body, "Message");
    std::string reason;
    for (const auto* name : {"__type", "message", "Message"})
        if (const auto* value = object->if_contains(name); value != nullptr && value->is_string())
            reason.append(value->get_string()).append(" ");
    return reason;
}

bool says(const std::string& reason, std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
        return reason.find(word) != std::string::npos;
    });
}

}  // namespace

std::shared_ptr<service> service::make(net::loop& where, service_settings settings) {
    return std::make_shared<service>(where, std::move(settings));
}

service::service(net::loop& where, service_settings settings)
    : authorized_service{where, settings.at, credentials::make(where, std::move(settings.keys))},
      scope_{std::move(settings.where)},
      host_{net::host_field(settings.at)} {}

result<net::https_request> service::authorize(net::https_request request,
                                              const key_pair& keys) const {
    sign(request, host_, keys, scope_, clock().now());
    return request;
}

net::remedy service::find_remedy(const net::https_response& answer,
                                 const key_pair& /*used*/) const {
    if (answer.status != 400 && answer.status != 401 && answer.status != 403)
        return net::remedy::none;
    const auto reason = reason_of(answer.body);
    if (says(reason, {"ExpiredToken", "UnrecognizedClientException", "InvalidAccessKeyId"}))
        return net::remedy::other_keys;
    if (clock().off().count() != 0 &&
        says(reason, {"Signature expired", "Signature not yet current", "RequestTimeTooSkewed",
                      "RequestExpired"}))
        return net::remedy::other_time;
    return net::remedy::none;
}

}  // namespace pawl::aws
