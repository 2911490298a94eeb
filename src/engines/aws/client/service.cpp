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
    : scope_{settings.where},
      host_{net::host_field(settings.at)},
      pool_{net::https_pool::make(where, std::move(settings.at))},
      keys_{credentials::make(where, std::move(settings.keys))},
      clock_{where} {}

service::remedy service::find_remedy(const net::https_response& answer) {
    if (answer.status != 400 && answer.status != 401 && answer.status != 403) return remedy::none;
    if (says(answer.body, {"ExpiredToken", "UnrecognizedClientException", "InvalidAccessKeyId"}))
        return remedy::other_keys;
    if (clock_.off().count() != 0 &&
        says(answer.body, {"Signature expired", "Signature not yet current", "RequestTimeTooSkewed",
                           "RequestExpired"}))
        return remedy::other_time;
    return remedy::none;
}

async<net::https_response> service::ask(net::https_request request, instant until) {
    const auto self = shared_from_this();
    for (bool again = false;; again = true) {
        auto getting = keys_->get(until);
        const auto keys = co_await std::move(getting);
        if (keys.has_error()) co_return keys.error();
        auto signed_request = request;
        sign(signed_request, host_, *keys, scope_, clock_.now());
        auto asking = pool_->ask(std::move(signed_request), until);
        auto answer = co_await std::move(asking);
        if (answer.has_error()) co_return answer;
        clock_.hear(*answer);
        const auto what = find_remedy(*answer);
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

}  // namespace pawl::aws
