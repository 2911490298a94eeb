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
    : account_{settings.account},
      path_{settings.path},
      may_send_tokens_{settings.at.secure || is_at_hand(settings.at.host)},
      pool_{net::https_pool::make(where, std::move(settings.at))},
      keys_{credentials::make(where, std::move(settings.keys))},
      clock_{where} {}

result<net::https_request> service::authorized(net::https_request request, const access& by) const {
    request.target = path_ + request.target;
    request.fields.emplace_back("x-ms-version", protocol_version);
    if (by.is == access::kind::account_key) {
        sign(request, account_, by.secret, clock_.now());
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

service::remedy service::find_remedy(const net::https_response& answer, access::kind used) const {
    if (answer.status != 401 && answer.status != 403) return remedy::none;
    const auto code = error_code(answer);
    if (code != "AuthenticationFailed" && code != "InvalidAuthenticationInfo") return remedy::none;
    if (used == access::kind::account_key && std::chrono::abs(clock_.off()) > clock_off_max)
        return remedy::other_time;
    return remedy::other_keys;
}

async<net::https_response> service::ask(net::https_request request, instant until) {
    const auto self = shared_from_this();
    for (bool again = false;; again = true) {
        auto getting = keys_->get(until);
        const auto by = co_await std::move(getting);
        if (by.has_error()) co_return by.error();
        auto ready = authorized(request, *by);
        if (ready.has_error()) co_return ready.error();
        auto asking = pool_->ask(std::move(*ready), until);
        auto answer = co_await std::move(asking);
        if (answer.has_error()) co_return answer;
        clock_.hear(*answer);
        const auto what = find_remedy(*answer, by->is);
        if (what == remedy::none || again) co_return answer;
        if (what == remedy::other_keys) keys_->forget();
        if (what == remedy::other_time) clock_.correct();
    }
}

std::vector<finding> service::examine() const {
    std::vector<finding> found;
    found.push_back({severity::ok, "credentials", "from " + keys_->source()});
    if (auto certificate = pool_->examine_tls()) found.push_back(std::move(*certificate));
    return found;
}

}  // namespace pawl::azblob
