#include "engines/aws/client/service.hpp"

#include <algorithm>
#include <utility>

namespace pawl::aws {
namespace {

bool says(std::string_view body, std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
        return body.find(word) != std::string_view::npos;
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
    if (says(answer.body, {"ExpiredToken", "UnrecognizedClientException", "InvalidAccessKeyId"}))
        return net::remedy::other_keys;
    if (clock().off().count() != 0 &&
        says(answer.body, {"Signature expired", "Signature not yet current", "RequestTimeTooSkewed",
                           "RequestExpired"}))
        return net::remedy::other_time;
    return net::remedy::none;
}

}  // namespace pawl::aws
