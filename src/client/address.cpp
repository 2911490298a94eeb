#include "client/address.hpp"

#include "base/percent.hpp"
#include "base/text.hpp"
#include "base/url.hpp"

#include <boost/asio/ip/address.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace pawl::client {
namespace {

constexpr std::uint16_t port_of_http = 80;
constexpr std::uint16_t port_of_https = 443;

base::text_fault fault(std::size_t column, std::string what) { return {column, std::move(what)}; }

std::string prefix_of(std::string_view path) {
    while (path.ends_with('/')) path.remove_suffix(1);
    if (path.empty()) return "";
    std::string made;
    for (std::size_t from = 0; from <= path.size();) {
        const auto slash = std::min(path.find('/', from), path.size());
        made += "/" + base::percent_encode(path.substr(from, slash - from));
        from = slash + 1;
    }
    return made;
}

std::optional<base::text_fault> take(address& where, const base::url_parameter& one,
                                     std::size_t column) {
    const std::vector<std::pair<std::string_view, std::string*>> texts{
        {"ca", &where.trust.ca},
        {"cert", &where.trust.certificate},
        {"key", &where.trust.key},
        {"tls_server_name", &where.trust.server_name}};
    for (const auto& [name, place] : texts) {
        if (one.name != name) continue;
        if (where.how != scheme::https)
            return fault(column, "'" + one.name + "' is for https:// only");
        *place = one.value;
        return std::nullopt;
    }
    if (one.name != "timeout") {
        const auto meant =
            base::nearest(one.name, {"ca", "cert", "key", "tls_server_name", "timeout"});
        return fault(column, "there is no parameter '" + base::printable(one.name) + "'" +
                                 (meant ? ": did you mean '" + std::string{*meant} + "'?" : ""));
    }
    const auto bound = base::parse_duration(one.value);
    if (bound.has_error() || bound->count() == 0)
        return fault(column, "timeout must be a duration such as 30s");
    where.timeout = *bound;
    return std::nullopt;
}

}  // namespace

base::parsed<address> parse_address(std::string_view text) {
    if (!text.starts_with("http://") && !text.starts_with("https://"))
        return fault(0,
                     "an agent's URL begins with http:// or https://, as in "
                     "http://127.0.0.1:7295");
    const auto url = base::parse_store_url(text);
    if (url.has_error()) return url.error();
    const auto host_at = text.find("//") + 2;
    if (url->user || url->password)
        return fault(host_at,
                     "credentials have no place in the URL: the token goes into "
                     "PAWL_TOKEN");
    if (url->endpoints.empty())
        return fault(host_at, "the host is empty: write http://host[:port]");
    if (url->endpoints.size() > 1) return fault(host_at, "one agent is asked: leave only one host");
    address where;
    where.how = url->scheme == "https" ? scheme::https : scheme::http;
    where.host = url->endpoints.front().host;
    where.port = url->endpoints.front().port;
    if (where.port == 0) where.port = where.how == scheme::https ? port_of_https : port_of_http;
    where.prefix = prefix_of(url->path);
    for (const auto& one : url->parameters)
        if (auto bad = take(where, one, text.find('?') + 1)) return *bad;
    return where;
}

std::string text_of(const address& where) {
    const bool is_v6 = where.host.find(':') != std::string::npos;
    return (where.how == scheme::https ? "https://" : "http://") +
           (is_v6 ? "[" + where.host + "]" : where.host) + ":" + std::to_string(where.port);
}

bool is_loopback(const address& where) {
    if (where.host == "localhost") return true;
    boost::system::error_code error;
    const auto found = boost::asio::ip::make_address(where.host, error);
    return !error && found.is_loopback();
}

}  // namespace pawl::client
