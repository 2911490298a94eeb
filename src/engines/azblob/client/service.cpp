#include "engines/azblob/client/service.hpp"

#include "engines/azblob/client/signature.hpp"
#include "net/https/origin.hpp"

#include <chrono>
#include <utility>

namespace pawl::azblob {
namespace {

constexpr std::string_view protocol_version = "2021-12-02";
// The service takes a date that is a quarter of an hour off.
constexpr std::chrono::seconds clock_off_max = std::chrono::minutes{10};

}  // namespace

bool take_endpoint(service_settings& into, std::string_view text) {
    const auto parts = net::split_origin(text);
    auto at = net::parse_origin(parts.origin);
    if (!at || parts.target.find_first_of("?#") != std::string::npos) return false;
    into.at = std::move(*at);
    into.path = parts.target;
    while (into.path.ends_with('/')) into.path.pop_back();
    return true;
}

std::string_view error_code(const net::https_response& answer) {
    return answer.field("x-ms-error-code");
}

std::shared_ptr<service> service::make(net::loop& where, service_settings settings) {
    return std::make_shared<service>(where, std::move(settings));
}

service::service(net::loop& where, service_settings settings)
    : authorized_service{where, settings.at, credentials::make(where, std::move(settings.keys))},
      account_{std::move(settings.account)},
      path_{std::move(settings.path)},
      may_send_tokens_{settings.at.secure || is_at_hand(settings.at.host)} {}

result<net::https_request> service::authorize(net::https_request request, const access& by) const {
    request.target = path_ + request.target;
    request.fields.emplace_back("x-ms-version", protocol_version);
    if (by.is == access::kind::account_key) {
        sign(request, account_, by.secret, clock().now());
        return request;
    }
    // Anyone who sees one of these may use it.
    if (!may_send_tokens_)
        return failure{errc::denied,
                       "a token or a shared access signature is not sent in the clear; expected "
                       "an endpoint of https://"};
    if (by.is == access::kind::token)
        request.fields.emplace_back("Authorization", "Bearer " + by.secret);
    else
        request.target += (request.target.find('?') == std::string::npos ? "?" : "&") + by.secret;
    return request;
}

net::remedy service::find_remedy(const net::https_response& answer, const access& used) const {
    if (answer.status != 401 && answer.status != 403) return net::remedy::none;
    const auto code = error_code(answer);
    if (code != "AuthenticationFailed" && code != "InvalidAuthenticationInfo")
        return net::remedy::none;
    if (used.is == access::kind::account_key && std::chrono::abs(clock().off()) > clock_off_max)
        return net::remedy::other_time;
    return net::remedy::other_keys;
}

}  // namespace pawl::azblob
