#include "api/auth/request_credentials.hpp"

#include "base/ascii.hpp"
#include "config/texts.hpp"

#include <algorithm>

namespace pawl::api {
namespace {

constexpr std::string_view scheme = "bearer ";

}  // namespace

std::optional<std::string_view> bearer_of(const http::request& request) {
    const auto said = request.find("authorization");
    if (said.size() < scheme.size() ||
        !base::equals_ignoring_case(said.substr(0, scheme.size()), scheme))
        return std::nullopt;
    return base::trimmed(said.substr(scheme.size()));
}

std::vector<std::string_view> cookies_of(const http::request& request, std::string_view name) {
    std::vector<std::string_view> values;
    for (const auto& field : request.fields) {
        if (field.name != "cookie") continue;
        std::string_view rest = field.value;
        while (!rest.empty() && values.size() < cookies_max) {
            const auto end = rest.find(';');
            const auto pair = base::trimmed(rest.substr(0, end));
            rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
            const auto equals = pair.find('=');
            if (equals != std::string_view::npos && pair.substr(0, equals) == name)
                values.push_back(pair.substr(equals + 1));
        }
    }
    return values;
}

bool is_reading(const http::request& request) {
    return request.method == "GET" || request.method == "HEAD" || request.method == "OPTIONS";
}

bool is_from_other_site(const http::request& request) {
    // A browser's own word, which no page can set. Source: Fetch Metadata Request Headers (W3C).
    const auto site = request.find("sec-fetch-site");
    if (!site.empty()) return site != "same-origin" && site != "none";
    // Elder browsers, and such that speak to us in clear text over a network.
    const auto origin = request.find("origin");
    if (origin.empty()) return false;
    const auto slashes = origin.find("://");
    return slashes == std::string_view::npos ||
           !base::equals_ignoring_case(origin.substr(slashes + 3), request.find("host"));
}

bool is_from_this_machine(const http::request& request) {
    return request.from_loopback && request.find("forwarded").empty() &&
           request.find("x-forwarded-for").empty();
}

bool is_for_other_host(const http::request& request, const std::vector<std::string>& hosts) {
    auto host = request.find("host");
    // Without one, which HTTP/1.0 allows, it is no browser.
    if (!request.to_loopback || host.empty()) return false;
    const auto end_of_address = host.front() == '[' ? host.find(']') : std::string_view::npos;
    if (end_of_address != std::string_view::npos)
        host = host.substr(1, end_of_address - 1);
    else
        host = host.substr(0, host.rfind(':'));
    if (host.ends_with('.')) host.remove_suffix(1);
    const auto name = base::lower(host);
    if (name.ends_with(".localhost") || config::is_loopback({name, 0})) return false;
    return std::none_of(hosts.begin(), hosts.end(), [&](const std::string& one) {
        return base::equals_ignoring_case(one, name);
    });
}

http::response login_rejected_page() {
    http::response page{
        403, "text/html; charset=utf-8",
        "<!doctype html>\n"
        "<html lang=\"en\">\n"
        "<head><meta charset=\"utf-8\"><title>pawl: this link does not work"
        "</title></head>\n"
        "<body>\n"
        "<h1>This login link does not work</h1>\n"
        "<p>A login link works once, for a quarter of an hour, and only on the "
        "machine on which the agent runs. <code>pawl agent login-link</code> prints "
        "a fresh one there.</p>\n"
        "<p>To log in from elsewhere, add a [[user]] to the agent's configuration: "
        "<code>pawl token new --name NAME --role admin</code> prints one.</p>\n"
        "</body>\n"
        "</html>\n"};
    page.set("Cache-Control", "no-store");
    return page;
}

}  // namespace pawl::api
