#include "engines/aws/client/endpoint.hpp"

#include "base/ascii.hpp"
#include "base/url.hpp"

#include <algorithm>

namespace pawl::aws {

std::optional<net::https_settings> parse_endpoint(std::string_view text) {
    const auto url = base::parse_store_url(text);
    if (url.has_error() || (url->scheme != "http" && url->scheme != "https")) return std::nullopt;
    if (url->endpoints.size() != 1 || url->endpoints.front().host.empty()) return std::nullopt;
    if (url->user || !url->parameters.empty() || (!url->path.empty() && url->path != "/"))
        return std::nullopt;
    net::https_settings made;
    made.secure = url->scheme == "https";
    made.host = url->endpoints.front().host;
    made.port = url->endpoints.front().port;
    if (made.port == 0) made.port = made.secure ? 443 : 80;
    made.proxy = net::proxy_of_environment(made);
    return made;
}

std::string endpoint_of(std::string_view service, std::string_view region) {
    const auto* domain = region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
    return "https://" + std::string{service} + "." + std::string{region} + domain;
}

bool is_region(std::string_view text) {
    return !text.empty() && text.size() <= 63 && std::all_of(text.begin(), text.end(), [](char c) {
        return base::is_alphanumeric(c) || c == '-';
    });
}

}  // namespace pawl::aws
