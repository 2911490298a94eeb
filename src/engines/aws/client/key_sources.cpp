#include "engines/aws/client/key_sources.hpp"

#include "base/ascii.hpp"
#include "base/percent.hpp"
#include "base/text.hpp"
#include "base/xml.hpp"
#include "engines/aws/client/profile.hpp"
#include "net/https/origin.hpp"
#include "net/https/proxy.hpp"
#include "net/https/statuses.hpp"
#include "net/small_file.hpp"
#include "time/rfc3339.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

namespace pawl::aws {
namespace {

using namespace std::chrono_literals;

// An instance's metadata is a hop away; where there is no instance, nothing answers at all.
constexpr std::chrono::nanoseconds metadata_timeout = 1s;

failure denied(std::string detail) { return {errc::denied, std::move(detail)}; }

// An end by this machine's clock, which may be wrong; the server that issued the keys said what
// time it is as well.
time::wall_instant by_own_clock(const net::loop& where, time::wall_instant end,
                                const net::https_response& answer) {
    if (!answer.date) return end;
    const auto own = std::chrono::floor<std::chrono::seconds>(where.wall().time_since_epoch());
    return end + (own - *answer.date);
}

// The document that containers and instances are answered with.
result<found_keys> read_document(const net::loop& where, const net::https_response& answer,
                                 const std::string& source) {
    boost::system::error_code error;
    const auto parsed = boost::json::parse(answer.body, error);
    const auto* object = error ? nullptr : parsed.if_object();
    const auto text = [&](const char* name) {
        const auto* value = object == nullptr ? nullptr : object->if_contains(name);
        return value != nullptr && value->is_string() ? std::string{value->get_string()}
                                                      : std::string{};
    };
    key_pair keys{text("AccessKeyId"), text("SecretAccessKey"), text("Token")};
    if (keys.id.empty() || keys.secret.empty()) return denied(source + " answers without keys");
    const auto end = text("Expiration");
    if (end.empty()) return found_keys{std::move(keys), source};
    const auto parsed_end = time::parse_rfc3339(end);
    if (parsed_end.has_error()) return denied(source + " answers keys whose end cannot be read");
    return found_keys{std::move(keys), source, by_own_clock(where, *parsed_end, answer)};
}

failure rejected(const std::string& source, unsigned status) {
    const bool passes = net::is_undecided(status) || net::is_turned_away(status);
    return {passes ? errc::unreachable : errc::denied,
            source + " answers " + std::to_string(status)};
}

// ---- The sources

async<found_keys> by_web_identity(net::loop& where, std::shared_ptr<const credential_settings> from,
                                  std::string role, std::string file, instant until) {
    const std::string source = "the web identity of " + file;
    // The identity would go anywhere else in the clear.
    const auto sts = net::parse_origin(from->sts_endpoint);
    if (!sts || !(sts->secure || net::is_this_machine(sts->host)))
        co_return denied("the endpoint of STS '" + base::printable(from->sts_endpoint) +
                         "' is not asked; expected https://host");
    auto reading = net::read_small_file(where, file);
    const auto identity = co_await std::move(reading);
    if (!identity) co_return denied(source + " cannot be read");
    const auto session = from->role_session.empty() ? "pawl" : from->role_session;
    net::https_request request{
        "POST", "/",
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=" +
            base::percent_encode(role) + "&RoleSessionName=" + base::percent_encode(session) +
            "&WebIdentityToken=" + base::percent_encode(net::without_line_ends(*identity))};
    request.fields = {{"Content-Type", "application/x-www-form-urlencoded"}};
    request.only_reads = true;
    auto asking = net::ask_once(where, from->sts_endpoint, std::move(request), until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->status != 200) {
        auto why = rejected("STS", got->status);
        const auto code = base::text_in(got->body, "Code");
        if (!code.empty()) why.detail += ": " + base::printable(code);
        co_return why;
    }
    key_pair keys{base::text_in(got->body, "AccessKeyId"),
                  base::text_in(got->body, "SecretAccessKey"),
                  base::text_in(got->body, "SessionToken")};
    const auto end = time::parse_rfc3339(base::text_in(got->body, "Expiration"));
    if (keys.id.empty() || keys.secret.empty() || end.has_error())
        co_return denied("STS answers without keys");
    co_return found_keys{std::move(keys), source, by_own_clock(where, *end, *got)};
}

async<found_keys> by_container(net::loop& where, std::shared_ptr<const credential_settings> from,
                               instant until) {
    const auto at = net::split_origin(from->container_url);
    const auto source = "the container's endpoint " + base::printable(at.origin);
    if (!is_trusted_container_url(from->container_url))
        co_return denied(source + " is not asked; expected https://, or an address of this host");
    auto token = from->container_token;
    if (!from->container_token_file.empty()) {
        auto reading = net::read_small_file(where, from->container_token_file);
        const auto text = co_await std::move(reading);
        if (!text) co_return denied("the file " + from->container_token_file + " cannot be read");
        token = net::without_line_ends(*text);
    }
    net::https_request request{"GET", at.target};
    if (!token.empty()) request.fields = {{"Authorization", token}};
    auto asking = net::ask_once(where, at.origin, std::move(request), until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->status != 200) co_return rejected(source, got->status);
    co_return read_document(where, *got, source);
}

async<net::https_response> ask_metadata(net::loop& where, std::string origin,
                                        net::https_request request, instant until) {
    const auto soon = std::min(until, where.now() + metadata_timeout);
    auto asking = net::ask_once(where, std::move(origin), std::move(request), soon);
    auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->status != 200) co_return rejected("the metadata of the instance", got->status);
    co_return got;
}

async<found_keys> by_instance(net::loop& where, std::shared_ptr<const credential_settings> from,
                              instant until) {
    net::https_request opening{"PUT", "/latest/api/token"};
    opening.fields = {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}};
    opening.only_reads = true;
    auto asking = ask_metadata(where, from->metadata_url, std::move(opening), until);
    const auto session = co_await std::move(asking);
    if (session.has_error())
        co_return failure{session.error().code,
                          "no credentials of AWS in the environment, in a profile or at a "
                          "container's endpoint, and none of an instance: " +
                              session.error().detail};
    const std::string folder = "/latest/meta-data/iam/security-credentials/";
    net::https_request listing{"GET", folder};
    listing.fields = {{"X-aws-ec2-metadata-token", session->body}};
    auto naming = ask_metadata(where, from->metadata_url, std::move(listing), until);
    const auto roles = co_await std::move(naming);
    if (roles.has_error()) {
        if (roles.error().detail.ends_with("404")) co_return denied("the instance has no role");
        co_return roles.error();
    }
    const auto role = std::string{base::trimmed(roles->body.substr(0, roles->body.find('\n')))};
    net::https_request reading{"GET", folder + base::percent_encode(role)};
    reading.fields = {{"X-aws-ec2-metadata-token", session->body}};
    auto fetching = ask_metadata(where, from->metadata_url, std::move(reading), until);
    const auto document = co_await std::move(fetching);
    if (document.has_error()) co_return document.error();
    co_return read_document(where, *document, "the role of the instance");
}

// Nothing: the files have no such profile.
async<std::optional<profile>> read_profile(net::loop& where,
                                           std::shared_ptr<const credential_settings> from) {
    auto one = net::read_small_file(where, from->credentials_file);
    const auto keys = co_await std::move(one);
    auto other = net::read_small_file(where, from->config_file);
    const auto config = co_await std::move(other);
    auto found = find_profile(keys.value_or(""), config.value_or(""), from->profile);
    if (found.empty() && from->profile_named)
        co_return denied("there is no profile '" + base::printable(from->profile) +
                         "' in the files of AWS; expected AWS_PROFILE to name one");
    if (found.empty()) co_return std::optional<profile>{};
    co_return std::optional{std::move(found)};
}

}  // namespace

bool is_trusted_container_url(std::string_view url) {
    if (url.starts_with("https://")) return true;
    const auto settings = net::parse_origin(net::split_origin(url).origin);
    if (!settings) return false;
    const auto& host = settings->host;
    for (const auto* known : {"169.254.170.2", "169.254.170.23", "fd00:ec2::23"})
        if (host == known) return true;
    return net::is_this_machine(host);
}

async<found_keys> find_keys(net::loop& where, std::shared_ptr<const credential_settings> from,
                            instant until) {
    if (!from->keys.id.empty() && !from->keys.secret.empty())
        co_return found_keys{from->keys, "the environment"};
    if (!from->role_arn.empty() && !from->identity_file.empty()) {
        auto asking = by_web_identity(where, from, from->role_arn, from->identity_file, until);
        co_return co_await std::move(asking);
    }
    auto reading = read_profile(where, from);
    const auto own = co_await std::move(reading);
    if (own.has_error()) co_return own.error();
    if (*own) {
        const auto value = [&](const char* name) {
            const auto found = (*own)->find(name);
            return found == (*own)->end() ? std::string{} : found->second;
        };
        key_pair keys{value("aws_access_key_id"), value("aws_secret_access_key"),
                      value("aws_session_token")};
        const auto source = "the profile '" + base::printable(from->profile) + "'";
        if (!keys.id.empty() && !keys.secret.empty()) co_return found_keys{std::move(keys), source};
        if (!value("role_arn").empty() && !value("web_identity_token_file").empty()) {
            auto asking = by_web_identity(where, from, value("role_arn"),
                                          value("web_identity_token_file"), until);
            co_return co_await std::move(asking);
        }
        for (const auto* name : {"credential_process", "sso_session", "sso_start_url",
                                 "source_profile", "credential_source"})
            if (!value(name).empty())
                co_return denied(source + " has " + name +
                                 ", which pawl does not follow; expected keys, or the keys that "
                                 "`aws configure export-credentials` prints in the environment");
        if (from->profile_named) co_return denied(source + " has no keys");
    }
    if (!from->container_url.empty()) {
        auto asking = by_container(where, from, until);
        co_return co_await std::move(asking);
    }
    if (!from->metadata_url.empty()) {
        auto asking = by_instance(where, from, until);
        co_return co_await std::move(asking);
    }
    co_return denied(
        "no credentials of AWS in the environment, in a profile or at a container's endpoint");
}

}  // namespace pawl::aws
