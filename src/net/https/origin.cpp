#include "net/https/origin.hpp"

#include "base/url.hpp"

#include <utility>

namespace pawl::net {
namespace {

constexpr std::size_t answer_max = std::size_t{64} * 1024;

}  // namespace

std::optional<https_settings> parse_origin(std::string_view text) {
    const auto url = base::parse_store_url(text);
    if (url.has_error() || (url->scheme != "http" && url->scheme != "https")) return std::nullopt;
    if (url->endpoints.size() != 1 || url->endpoints.front().host.empty()) return std::nullopt;
    if (url->user || !url->parameters.empty() || (!url->path.empty() && url->path != "/"))
        return std::nullopt;
    https_settings made;
    made.secure = url->scheme == "https";
    made.host = url->endpoints.front().host;
    made.port = url->endpoints.front().port;
    if (made.port == 0) made.port = made.secure ? 443 : 80;
    made.proxy = proxy_of_environment(made);
    return made;
}

split_url split_origin(std::string_view url) {
    const auto scheme = url.find("://");
    if (scheme == std::string_view::npos) return {std::string{url}, "/"};
    const auto slash = url.find('/', scheme + 3);
    if (slash == std::string_view::npos) return {std::string{url}, "/"};
    return {std::string{url.substr(0, slash)}, std::string{url.substr(slash)}};
}

async<https_response> ask_once(loop& where, std::string origin, https_request request,
                               instant until) {
    auto settings = parse_origin(origin);
    if (!settings) co_return failure{errc::denied, "invalid endpoint; expected http://host[:port]"};
    settings->body_max = answer_max;
    if (!settings->secure) settings->proxy.clear();
    const auto pool = https_pool::make(where, std::move(*settings));
    auto asking = pool->ask(std::move(request), until);
    auto got = co_await std::move(asking);
    pool->close();
    co_return got;
}

}  // namespace pawl::net
