#include "base/url.hpp"

#include "base/ascii.hpp"
#include "base/number.hpp"
#include "base/percent.hpp"

#include <algorithm>

namespace pawl::base {
namespace {

constexpr std::size_t url_bytes_max = 4096;
constexpr auto npos = std::string_view::npos;
constexpr std::string_view unencoded =
    "a '/', '?', '#' or '@' in a password is written %2F, %3F, %23 or %40";

text_fault fault(std::size_t column, std::string what) { return {column, std::move(what)}; }

bool is_scheme(std::string_view text) {
    const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
    return !text.empty() && letter(text.front()) &&
           std::all_of(text.begin(), text.end(), [&](char c) {
               return letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
           });
}

parsed<std::string> decode(std::string_view text, std::size_t column) {
    const auto zero = text.find("%00");
    auto decoded = percent_decode(text.substr(0, zero));
    if (decoded.has_error()) return fault(column + decoded.error().column, decoded.error().what);
    if (zero != npos) return fault(column + zero, "%00 cannot stand in a store URL");
    return decoded;
}

parsed<std::uint16_t> parse_port(std::string_view text, std::size_t column) {
    const auto port = parse_number_within<std::uint16_t>(text, 1, 65535);
    if (!port) return fault(column, "the port must be an integer from 1 to 65535");
    return *port;
}

// libpq finds a server by itself where its URI names none, as postgresql://:6432/db does not, and a
// pod finds its cluster.
bool may_lack_host(const std::string& scheme) {
    return scheme == "postgresql" || scheme == "postgres" || scheme == "kubernetes";
}

parsed<endpoint> parse_endpoint(const std::string& scheme, std::string_view text,
                                std::size_t column) {
    endpoint where;
    std::size_t port_at = npos;
    if (text.starts_with('[')) {
        const auto close = text.find(']');
        if (close == npos) return fault(column, "the '[' of an IPv6 address is not closed by ']'");
        where.host = text.substr(1, close - 1);
        if (close + 1 < text.size()) {
            if (text[close + 1] != ':')
                return fault(column + close + 1, "expected ':' and a port after ']'");
            port_at = close + 2;
        }
    } else {
        const auto colon = text.find(':');
        const auto host = decode(text.substr(0, colon), column);
        if (!host) return host.error();
        where.host = *host;
        if (colon != npos) port_at = colon + 1;
    }
    if (where.host.empty() && !may_lack_host(scheme))
        return fault(column, "the host is empty: write scheme://host[:port]");
    if (port_at == npos) return where;
    const auto parsed_port = parse_port(text.substr(port_at), column + port_at);
    if (!parsed_port) return parsed_port.error();
    where.port = *parsed_port;
    return where;
}

// Fills user, password and endpoints. The last '@' ends the credentials, as people forget to encode
// it.
std::optional<text_fault> parse_authority(store_url& url, std::string_view text,
                                          std::size_t column) {
    if (const auto at = text.rfind('@'); at != npos) {
        const auto credentials = text.substr(0, at);
        const auto colon = credentials.find(':');
        const auto user = decode(credentials.substr(0, colon), column);
        if (!user) return user.error();
        if (!user->empty()) url.user = *user;
        if (colon != npos) {
            const auto password = decode(credentials.substr(colon + 1), column + colon + 1);
            if (!password) return password.error();
            url.password = *password;
        }
        text.remove_prefix(at + 1);
        column += at + 1;
    }
    for (std::size_t from = 0; from <= text.size();) {
        const auto comma = std::min(text.find(',', from), text.size());
        const auto where =
            parse_endpoint(url.scheme, text.substr(from, comma - from), column + from);
        if (!where) return where.error();
        url.endpoints.push_back(*where);
        from = comma + 1;
    }
    return std::nullopt;
}

// What is wrong, and what it may come from where the text could be the rest of a password.
std::string hinted(std::string what, std::string_view text) {
    return text.find('@') == npos ? what : std::move(what.append("; ").append(unencoded));
}

std::optional<text_fault> parse_query(store_url& url, std::string_view text, std::size_t column) {
    for (std::size_t from = 0; from < text.size();) {
        const auto end = std::min(text.find('&', from), text.size());
        const auto pair = text.substr(from, end - from);
        const auto equals = pair.find('=');
        if (equals == npos || equals == 0)
            return fault(column + from, hinted("expected NAME=VALUE in the query", pair));
        const auto name = decode(pair.substr(0, equals), column + from);
        if (!name) return name.error();
        const auto value = decode(pair.substr(equals + 1), column + from + equals + 1);
        if (!value) return value.error();
        if (url.find(*name) != nullptr)
            return fault(column + from, text.find('@') == npos
                                            ? "the parameter '" + *name + "' is given twice"
                                            : hinted("a parameter is given twice", text));
        url.parameters.push_back({*name, *value});
        from = end + 1;
    }
    return std::nullopt;
}

// Whether the value of this parameter is one. The last is a URL of its own, which may hold a
// password as well.
bool is_secret(std::string_view encoded_name) {
    constexpr std::string_view names[] = {"password",
                                          "sslpassword",
                                          "oauth_client_secret",
                                          "scram_client_key",
                                          "scram_server_key",
                                          "notify",
                                          "sas",
                                          "tlscertificatekeyfilepassword",
                                          "authmechanismproperties"};
    const auto name = decode(encoded_name, 0);
    // Those of MongoDB are of any case.
    return name && std::find(std::begin(names), std::end(names), lower(*name)) != std::end(names);
}

}  // namespace

const std::string* store_url::find(std::string_view name) const {
    const auto found = std::find_if(parameters.begin(), parameters.end(),
                                    [&](const auto& p) { return p.name == name; });
    return found == parameters.end() ? nullptr : &found->value;
}

parsed<store_url> parse_store_url(std::string_view text) {
    if (text.size() > url_bytes_max)
        return fault(url_bytes_max, "a store URL has at most 4096 bytes");
    for (std::size_t at = 0; at < text.size(); ++at)
        if (static_cast<unsigned char>(text[at]) <= 0x20 || text[at] == 0x7f)
            return fault(at, "white space and control characters must be percent-encoded");
    const auto colon = text.find(':');
    if (colon == npos || !is_scheme(text.substr(0, colon)))
        return fault(
            0, "a store URL begins with its engine, such as sqlite:PATH or redis://host:6379");
    store_url url;
    url.scheme = text.substr(0, colon);
    const auto question = std::min(text.find('?', colon), text.size());
    if (question < text.size()) {
        if (auto bad = parse_query(url, text.substr(question + 1), question + 1)) return *bad;
    }
    auto rest = text.substr(colon + 1, question - colon - 1);
    auto column = colon + 1;
    if (rest.starts_with("//")) {
        rest.remove_prefix(2);
        column += 2;
        const auto slash = std::min(rest.find('/'), rest.size());
        if (slash > 0) {
            // Read as they stand, they would make a host of one half of a password and a path of
            // the other, which messages show.
            if (rest.find('@', slash) != npos)
                return fault(column + slash, hinted("an '@' of a path must be written %40", rest));
            if (auto bad = parse_authority(url, rest.substr(0, slash), column)) return *bad;
            rest.remove_prefix(std::min(slash + 1, rest.size()));
            column += slash + 1;
        }
    } else if (const auto at = rest.rfind('@');
               at != npos && rest.find(':') < at && rest.front() != '/' && rest.front() != '.') {
        return fault(column, "a server's URL has '//' in front of the user and the host");
    }
    const auto path = decode(rest, column);
    if (!path) return path.error();
    url.path = *path;
    return url;
}

namespace {

// Between the scheme and the last '@', in a text that no URL is: which part of it is the password,
// only its writer knows.
std::optional<secret_place> possible_credentials(std::string_view text) {
    const auto at = text.rfind('@');
    if (at == npos) return std::nullopt;
    auto from = text.find("://");
    if (from < at) {
        from += 3;
    } else {
        const auto colon = text.find(':');
        from = colon < at && is_scheme(text.substr(0, colon)) ? colon + 1 : 0;
    }
    if (from >= at) return std::nullopt;
    return secret_place{from, at - from, secret_kind::credentials};
}

// REQUIRES: the text is a URL.
std::optional<secret_place> password_in(std::string_view text) {
    const auto slashes = text.find("://");
    const auto query = text.find('?');
    if (slashes == npos || slashes > query) return std::nullopt;
    const auto from = slashes + 3;
    const auto end = std::min({text.find('/', from), query, text.size()});
    const auto at = text.rfind('@', end);
    const auto colon = text.find(':', from);
    if (at == npos || at < from || at >= end || colon >= at) return std::nullopt;
    return secret_place{colon + 1, at - colon - 1, secret_kind::password};
}

}  // namespace

std::vector<secret_place> secrets_in(std::string_view text) {
    std::vector<secret_place> found;
    const bool is_url = parse_store_url(text).has_value();
    if (const auto first = is_url ? password_in(text) : possible_credentials(text))
        found.push_back(*first);
    const auto query =
        text.find('?', is_url || found.empty() ? 0 : found.back().at + found.back().size);
    for (auto from = std::min(query, text.size()); from < text.size();) {
        const auto end = std::min(text.find('&', from + 1), text.size());
        const auto equals = text.find('=', from + 1);
        if (equals < end && is_secret(text.substr(from + 1, equals - from - 1)))
            found.push_back({equals + 1, end - equals - 1, secret_kind::parameter});
        from = end;
    }
    return found;
}

std::string redact_url(std::string_view text) {
    std::string safe{text};
    const auto places = secrets_in(text);
    for (auto each = places.rbegin(); each != places.rend(); ++each)
        safe.replace(each->at, each->size, "***");
    return safe;
}

std::string without_secrets(std::string_view text) {
    std::string safe{text};
    const auto places = secrets_in(text);
    for (auto each = places.rbegin(); each != places.rend(); ++each) {
        auto from = each->at;
        auto end = each->at + each->size;
        if (each->kind == secret_kind::parameter) {
            // With its name, and with the sign between it and its neighbor.
            from = safe.find_last_of("?&", each->at - 1);
            if (safe[from] == '?' && end < safe.size()) {
                ++from;
                ++end;
            }
        } else if (each->kind == secret_kind::credentials) {
            ++end;  // the '@'
        } else {
            --from;                            // the ':'
            if (safe[from - 1] == '/') ++end;  // no user is left before the '@'
        }
        safe.erase(from, end - from);
    }
    return safe;
}

}  // namespace pawl::base
