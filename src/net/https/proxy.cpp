#include "net/https/proxy.hpp"

#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/url.hpp"
#include "net/https/https_pool.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>

#include <cstdlib>
#include <optional>

namespace pawl::net {
namespace {

constexpr std::uint16_t proxy_port = 3128;

std::optional<boost::asio::ip::address> address_of(std::string_view host) {
    boost::system::error_code error;
    const auto address = boost::asio::ip::make_address(std::string{host}, error);
    return error ? std::nullopt : std::optional{address};
}

bool is_in_network(const boost::asio::ip::address& host, std::string_view network) {
    boost::system::error_code error;
    if (host.is_v4()) {
        const auto all = boost::asio::ip::make_network_v4(std::string{network}, error);
        return !error &&
               boost::asio::ip::network_v4{host.to_v4(), all.prefix_length()}.canonical() ==
                   all.canonical();
    }
    const auto all = boost::asio::ip::make_network_v6(std::string{network}, error);
    return !error && boost::asio::ip::network_v6{host.to_v6(), all.prefix_length()}.canonical() ==
                         all.canonical();
}

bool names(std::string_view entry, std::string_view host) {
    if (entry == "*") return true;
    const auto address = address_of(host);
    if (address && entry.find('/') != std::string_view::npos) return is_in_network(*address, entry);
    if (address) return address == address_of(entry);
    if (entry.starts_with("*.")) entry.remove_prefix(1);
    if (entry.starts_with('.')) entry.remove_prefix(1);
    if (entry.empty() || host.size() < entry.size()) return false;
    const auto rest = host.size() - entry.size();
    return base::equals_ignoring_case(host.substr(rest), entry) &&
           (rest == 0 || host[rest - 1] == '.');
}

std::string from_environment(const char* upper, const char* lower) {
    for (const auto* name : {lower, upper})
        if (const auto* value = std::getenv(name); value != nullptr && *value != '\0') return value;
    return {};
}

}  // namespace

bool is_this_machine(std::string_view host) {
    if (base::equals_ignoring_case(host, "localhost")) return true;
    const auto address = address_of(host);
    return address && address->is_loopback();
}

bool is_link_local(std::string_view host) {
    const auto address = address_of(host);
    return address && address->is_v4() && is_in_network(*address, "169.254.0.0/16");
}

result<proxy_address> parse_proxy(std::string_view text) {
    failure bad{errc::unsupported, "invalid proxy; expected http://[user:password@]host[:port]"};
    const auto scheme = text.find("://");
    const auto url = base::parse_store_url(
        scheme == std::string_view::npos ? "http://" + std::string{text} : std::string{text});
    if (url.has_error() || url->scheme != "http" || url->endpoints.size() != 1 ||
        url->endpoints.front().host.empty())
        return bad;
    proxy_address where;
    where.host = url->endpoints.front().host;
    where.port = url->endpoints.front().port == 0 ? proxy_port : url->endpoints.front().port;
    if (url->user)
        where.authorization =
            "Basic " + base::to_base64(*url->user + ":" + url->password.value_or(""));
    return where;
}

bool is_exempt(std::string_view no_proxy, std::string_view host) {
    while (!no_proxy.empty()) {
        const auto end = no_proxy.find(',');
        const auto entry = base::trimmed(no_proxy.substr(0, end));
        if (!entry.empty() && names(entry, host)) return true;
        if (end == std::string_view::npos) return false;
        no_proxy.remove_prefix(end + 1);
    }
    return false;
}

std::string proxy_of_environment(const https_settings& settings) {
    if (is_this_machine(settings.host)) return {};
    auto proxy = settings.secure ? from_environment("HTTPS_PROXY", "https_proxy")
                                 : from_environment("HTTP_PROXY", "http_proxy");
    if (proxy.empty() || is_exempt(from_environment("NO_PROXY", "no_proxy"), settings.host))
        return {};
    return proxy;
}

}  // namespace pawl::net
