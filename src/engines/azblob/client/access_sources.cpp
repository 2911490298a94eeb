// The sources of credentials, each asked in its own way.
#include "engines/azblob/client/credentials.hpp"

#include "base/base64.hpp"
#include "base/number.hpp"
#include "base/percent.hpp"
#include "base/text.hpp"
#include "net/https/origin.hpp"
#include "net/https/proxy.hpp"
#include "net/https/statuses.hpp"
#include "net/small_file.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace pawl::azblob {
namespace {

using namespace std::chrono_literals;

// A machine's metadata is a hop away; where there is no such machine, nothing answers at all.
constexpr std::chrono::nanoseconds metadata_timeout = 1s;
// What tokens are asked for: the same in all clouds.
constexpr std::string_view resource = "https://storage.azure.com/";

failure denied(std::string detail) { return {errc::denied, std::move(detail)}; }

result<found_access> account_key(std::string_view text, std::string source) {
    auto bytes = base::from_base64(text);
    if (!bytes || bytes->empty())
        return denied("the account key of " + source + " is none; expected base 64");
    return found_access{{access::kind::account_key, std::move(*bytes)}, std::move(source)};
}

result<found_access> signature(std::string_view text, std::string source) {
    if (text.starts_with('?')) text.remove_prefix(1);
    const bool plain = std::all_of(text.begin(), text.end(),
                                   [](char letter) { return letter > ' ' && letter < '\x7f'; });
    if (!plain || text.find("sig=") == std::string_view::npos)
        return denied("the shared access signature of " + source + " is none; expected sv=…&sig=…");
    return found_access{{access::kind::signature, std::string{text}}, std::move(source)};
}

// A number, or a text that is one: both are in use.
std::optional<std::int64_t> seconds_in(const boost::json::object& of, std::string_view name) {
    const auto* value = of.if_contains(name);
    if (value == nullptr) return std::nullopt;
    if (value->is_int64()) return value->get_int64();
    if (!value->is_string()) return std::nullopt;
    return base::parse_number<std::int64_t>(value->get_string());
}

bool may_be_sent(std::string_view token) {
    return !token.empty() && std::all_of(token.begin(), token.end(), [](char letter) {
        return letter > ' ' && letter < '\x7f';
    });
}

// The document that all who hand tokens out answer with.
result<found_access> read_token(const std::string& body, const std::string& source,
                                time::wall_instant now) {
    boost::system::error_code error;
    const auto parsed = boost::json::parse(body, error);
    const auto* object = error ? nullptr : parsed.if_object();
    const auto* token = object == nullptr ? nullptr : object->if_contains("access_token");
    if (token == nullptr || !token->is_string() || !may_be_sent(token->get_string()))
        return denied(source + " answers without a token");
    auto end = now;
    if (const auto left = seconds_in(*object, "expires_in"))
        end += std::chrono::seconds{*left};
    else if (const auto on = seconds_in(*object, "expires_on"))
        end = time::wall_instant{std::chrono::seconds{*on}};
    else
        return denied(source + " answers a token whose end cannot be read");
    return found_access{{access::kind::token, std::string{token->get_string()}}, source, end};
}

failure rejected(const std::string& source, const net::https_response& answer) {
    const bool passes = net::is_undecided(answer.status) || net::is_turned_away(answer.status) ||
                        answer.status == 410;
    auto detail = source + " answers " + std::to_string(answer.status);
    boost::system::error_code error;
    const auto parsed = boost::json::parse(answer.body, error);
    if (const auto* object = error ? nullptr : parsed.if_object())
        if (const auto* code = object->if_contains("error"); code != nullptr && code->is_string())
            detail += ": " + base::printable(code->get_string().subview(0, 100));
    return {passes ? errc::unreachable : errc::denied, std::move(detail)};
}

async<found_access> ask_for_token(net::loop& where, std::string origin, net::https_request request,
                                  std::string source, instant until) {
    request.only_reads = true;
    auto asking = net::ask_once(where, std::move(origin), std::move(request), until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return failure{got.error().code, source + ": " + got.error().detail};
    if (got->status != 200) co_return rejected(source, *got);
    co_return read_token(got->body, source, where.wall());
}

async<found_access> by_workload(net::loop& where, std::shared_ptr<const credential_settings> from,
                                instant until) {
    const auto source = "the workload identity of " + from->identity_file;
    auto reading = net::read_small_file(where, from->identity_file);
    const auto identity = co_await std::move(reading);
    if (!identity) co_return denied(source + " cannot be read");
    const auto at = net::split_origin(from->authority);
    // A token of the pod would go anywhere else in the clear.
    const auto settings = net::parse_origin(at.origin);
    if (!settings || !(settings->secure || is_at_hand(settings->host)))
        co_return denied("the authority '" + base::printable(at.origin) +
                         "' is not asked; expected https://host");
    net::https_request request{
        "POST",
        (at.target.ends_with('/') ? at.target : at.target + "/") +
            base::percent_encode(from->tenant) + "/oauth2/v2.0/token",
        "grant_type=client_credentials&client_id=" + base::percent_encode(from->client) +
            "&scope=" + base::percent_encode(std::string{resource} + ".default") +
            "&client_assertion_type=" +
            base::percent_encode("urn:ietf:params:oauth:client-assertion-type:jwt-bearer") +
            "&client_assertion=" + base::percent_encode(net::without_line_ends(*identity))};
    request.fields = {{"Content-Type", "application/x-www-form-urlencoded"}};
    auto asking = ask_for_token(where, at.origin, std::move(request), source, until);
    co_return co_await std::move(asking);
}

std::string token_query(const credential_settings& from, std::string_view version) {
    return "api-version=" + std::string{version} + "&resource=" + base::percent_encode(resource) +
           (from.client.empty() ? "" : "&client_id=" + base::percent_encode(from.client));
}

async<found_access> by_app_service(net::loop& where,
                                   std::shared_ptr<const credential_settings> from, instant until) {
    const auto at = net::split_origin(from->app_endpoint);
    const auto settings = net::parse_origin(at.origin);
    if (!settings || !(settings->secure || is_at_hand(settings->host)))
        co_return denied("the identity endpoint '" + base::printable(at.origin) +
                         "' is not asked; expected https://, or an address of this host");
    const auto* sign = at.target.find('?') == std::string::npos ? "?" : "&";
    net::https_request request{"GET", at.target + sign + token_query(*from, "2019-08-01")};
    request.fields = {{"X-IDENTITY-HEADER", from->app_header}};
    auto asking = ask_for_token(where, at.origin, std::move(request),
                                "the identity of the app service", until);
    co_return co_await std::move(asking);
}

async<found_access> by_machine(net::loop& where, std::shared_ptr<const credential_settings> from,
                               instant until) {
    net::https_request request{
        "GET", "/metadata/identity/oauth2/token?" + token_query(*from, "2018-02-01")};
    request.fields = {{"Metadata", "true"}};
    const auto soon = std::min(until, where.now() + metadata_timeout);
    auto asking = ask_for_token(where, from->metadata_url, std::move(request),
                                "the identity of the machine", soon);
    auto got = co_await std::move(asking);
    if (got.has_error())
        co_return failure{got.error().code,
                          "no credentials of Azure in the environment, and none of a managed "
                          "identity: " +
                              got.error().detail};
    co_return got;
}

using reader = result<found_access> (*)(std::string_view, std::string);

async<found_access> by_file(net::loop& where, std::string path, reader read) {
    auto reading = net::read_small_file(where, path);
    const auto text = co_await std::move(reading);
    if (!text) co_return denied("the file " + base::printable(path) + " cannot be read");
    co_return read(net::without_line_ends(*text), "the file " + base::printable(path));
}

}  // namespace

bool is_at_hand(std::string_view host) {
    return net::is_this_machine(host) || net::is_link_local(host);
}

async<found_access> find_access(net::loop& where, std::shared_ptr<const credential_settings> from,
                                instant until) {
    if (!from->key_file.empty()) {
        auto reading = by_file(where, from->key_file, account_key);
        co_return co_await std::move(reading);
    }
    if (!from->signature_file.empty()) {
        auto reading = by_file(where, from->signature_file, signature);
        co_return co_await std::move(reading);
    }
    if (!from->key.empty()) co_return account_key(from->key, "the environment");
    if (!from->signature.empty()) co_return signature(from->signature, "the environment");
    if (!from->identity_file.empty() && !from->tenant.empty() && !from->client.empty()) {
        auto asking = by_workload(where, from, until);
        co_return co_await std::move(asking);
    }
    if (!from->app_endpoint.empty() && !from->app_header.empty()) {
        auto asking = by_app_service(where, from, until);
        co_return co_await std::move(asking);
    }
    if (!from->metadata_url.empty()) {
        auto asking = by_machine(where, from, until);
        co_return co_await std::move(asking);
    }
    co_return denied("no credentials of Azure in the environment");
}

}  // namespace pawl::azblob
