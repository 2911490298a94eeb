#include "engines/aws/client/key_sources.hpp"

#include "base/ascii.hpp"
#include "base/percent.hpp"
#include "base/text.hpp"
#include "engines/aws/client/endpoint.hpp"
#include "engines/aws/client/profile.hpp"
#include "engines/aws/client/xml.hpp"
#include "net/https/https_pool.hpp"
#include "time/rfc3339.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>

namespace pawl::aws {
namespace {

using namespace std::chrono_literals;

// An instance's metadata is a hop away; where there is no instance, nothing answers at all.
constexpr std::chrono::nanoseconds metadata_timeout = 1s;
constexpr std::size_t answer_max = std::size_t{64} * 1024;
constexpr std::size_t file_max = std::size_t{1} << 20;

failure denied(std::string detail) { return {errc::denied, std::move(detail)}; }

// Nothing: it is not there.
std::optional<std::string> read_file(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    if (path.empty() || !file) return std::nullopt;
    std::string text;
    text.resize(file_max);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
}

boost::asio::awaitable<std::optional<std::string>> read_aside(net::loop& where, std::string path) {
    auto reading = where.run_blocking([path] { return read_file(path); });
    co_return co_await std::move(reading);
}

// Editors end a file with a line's end, which is no part of what is in it.
std::string without_line_ends(std::string_view text) {
    const auto last = text.find_last_not_of(" \t\r\n");
    return std::string{text.substr(0, last == std::string_view::npos ? 0 : last + 1)};
}

// Splits http://host:port/path, as the environment of a container has it.
struct place {
    std::string origin;
    std::string target;
};
place place_of(std::string_view url) {
    const auto host = url.find("://") + 3;
    const auto slash = url.find('/', host);
    if (slash == std::string_view::npos) return {std::string{url}, "/"};
    return {std::string{url.substr(0, slash)}, std::string{url.substr(slash)}};
}

// One request to somewhere that is asked a few times a day.
async<net::https_response> ask_once(net::loop& where, std::string origin,
                                    net::https_request request, instant until) {
    auto settings = parse_endpoint(origin);
    if (!settings) co_return denied("invalid endpoint; expected http://host[:port]");
    settings->body_max = answer_max;
    // What is asked in the clear is on this host.
    if (!settings->secure) settings->proxy.clear();
    const auto pool = net::https_pool::make(where, std::move(*settings));
    auto asking = pool->ask(std::move(request), until);
    auto got = co_await std::move(asking);
    pool->close();
    co_return got;
}

// The document that containers and instances are answered with.
result<found_keys> read_document(const std::string& body, const std::string& source) {
    boost::system::error_code error;
    const auto parsed = boost::json::parse(body, error);
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
    return found_keys{std::move(keys), source, *parsed_end};
}

failure refused(const std::string& source, unsigned status) {
    return {status >= 500 || status == 429 ? errc::unreachable : errc::denied,
            source + " answers " + std::to_string(status)};
}

// ---- The sources

async<found_keys> by_web_identity(net::loop& where, std::shared_ptr<const credential_settings> from,
                                  std::string role, std::string file, instant until) {
    const std::string source = "the web identity of " + file;
    auto reading = read_aside(where, file);
    const auto identity = co_await std::move(reading);
    if (!identity) co_return denied(source + " cannot be read");
    const auto session = from->role_session.empty() ? "pawl" : from->role_session;
    net::https_request request{
        "POST", "/",
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=" +
            base::percent_encode(role) + "&RoleSessionName=" + base::percent_encode(session) +
            "&WebIdentityToken=" + base::percent_encode(without_line_ends(*identity))};
    request.fields = {{"Content-Type", "application/x-www-form-urlencoded"}};
    request.only_reads = true;
    auto asking = ask_once(where, from->sts_endpoint, std::move(request), until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->status != 200) {
        auto why = refused("STS", got->status);
        const auto code = text_in(got->body, "Code");
        if (!code.empty()) why.detail += ": " + base::printable(code);
        co_return why;
    }
    key_pair keys{text_in(got->body, "AccessKeyId"), text_in(got->body, "SecretAccessKey"),
                  text_in(got->body, "SessionToken")};
    const auto end = time::parse_rfc3339(text_in(got->body, "Expiration"));
    if (keys.id.empty() || keys.secret.empty() || end.has_error())
        co_return denied("STS answers without keys");
    co_return found_keys{std::move(keys), source, *end};
}

async<found_keys> by_container(net::loop& where, std::shared_ptr<const credential_settings> from,
                               instant until) {
    const auto at = place_of(from->container_url);
    const auto source = "the container's endpoint " + base::printable(at.origin);
    if (!is_trusted_container_url(from->container_url))
        co_return denied(source + " is not asked; expected https://, or an address of this host");
    auto token = from->container_token;
    if (!from->container_token_file.empty()) {
        auto reading = read_aside(where, from->container_token_file);
        const auto text = co_await std::move(reading);
        if (!text) co_return denied("the file " + from->container_token_file + " cannot be read");
        token = without_line_ends(*text);
    }
    net::https_request request{"GET", at.target};
    if (!token.empty()) request.fields = {{"Authorization", token}};
    auto asking = ask_once(where, at.origin, std::move(request), until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->status != 200) co_return refused(source, got->status);
    co_return read_document(got->body, source);
}

async<std::string> ask_metadata(net::loop& where, std::string origin, net::https_request request,
                                instant until) {
    const auto soon = std::min(until, where.now() + metadata_timeout);
    auto asking = ask_once(where, std::move(origin), std::move(request), soon);
    auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->status != 200) co_return refused("the metadata of the instance", got->status);
    co_return std::move(got->body);
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
    listing.fields = {{"X-aws-ec2-metadata-token", *session}};
    auto naming = ask_metadata(where, from->metadata_url, std::move(listing), until);
    const auto roles = co_await std::move(naming);
    if (roles.has_error()) {
        if (roles.error().detail.ends_with("404")) co_return denied("the instance has no role");
        co_return roles.error();
    }
    const auto role = std::string{base::trimmed(roles->substr(0, roles->find('\n')))};
    net::https_request reading{"GET", folder + base::percent_encode(role)};
    reading.fields = {{"X-aws-ec2-metadata-token", *session}};
    auto fetching = ask_metadata(where, from->metadata_url, std::move(reading), until);
    const auto document = co_await std::move(fetching);
    if (document.has_error()) co_return document.error();
    co_return read_document(*document, "the role of the instance");
}

// Nothing: the files have no such profile.
async<std::optional<profile>> read_profile(net::loop& where,
                                           std::shared_ptr<const credential_settings> from) {
    auto one = read_aside(where, from->credentials_file);
    const auto keys = co_await std::move(one);
    auto other = read_aside(where, from->config_file);
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
    const auto settings = parse_endpoint(place_of(url).origin);
    if (!settings) return false;
    const auto& host = settings->host;
    for (const auto* known :
         {"169.254.170.2", "169.254.170.23", "fd00:ec2::23", "localhost", "::1"})
        if (host == known) return true;
    return host.starts_with("127.");
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
