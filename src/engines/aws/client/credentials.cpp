#include "engines/aws/client/credentials.hpp"

#include "base/ascii.hpp"
#include "engines/aws/client/endpoint.hpp"
#include "engines/aws/client/key_sources.hpp"

#include <cstdlib>
#include <utility>

namespace pawl::aws {
namespace {

std::string variable(const char* name) {
    const auto* value = std::getenv(name);
    return value == nullptr ? std::string{} : std::string{value};
}

std::string file_in_home(const char* name, const char* overriding) {
    auto named = variable(overriding);
    if (!named.empty()) return named;
    const auto home = variable("HOME");
    return home.empty() ? std::string{} : home + "/.aws/" + name;
}

}  // namespace

std::string region_of_environment() {
    auto region = variable("AWS_REGION");
    return region.empty() ? variable("AWS_DEFAULT_REGION") : region;
}

credential_settings credentials_of_environment(std::string_view region) {
    credential_settings from;
    from.keys = {variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"),
                 variable("AWS_SESSION_TOKEN")};
    from.role_arn = variable("AWS_ROLE_ARN");
    from.role_session = variable("AWS_ROLE_SESSION_NAME");
    from.identity_file = variable("AWS_WEB_IDENTITY_TOKEN_FILE");
    from.sts_endpoint = variable("AWS_ENDPOINT_URL_STS");
    if (from.sts_endpoint.empty()) from.sts_endpoint = endpoint_of("sts", region);
    const auto profile = variable("AWS_PROFILE");
    from.profile_named = !profile.empty();
    if (from.profile_named) from.profile = profile;
    from.credentials_file = file_in_home("credentials", "AWS_SHARED_CREDENTIALS_FILE");
    from.config_file = file_in_home("config", "AWS_CONFIG_FILE");
    from.container_url = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const auto relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    if (!relative.empty()) from.container_url = "http://169.254.170.2" + relative;
    from.container_token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    from.container_token_file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    if (!base::equals_ignoring_case(variable("AWS_EC2_METADATA_DISABLED"), "true")) {
        from.metadata_url = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
        if (from.metadata_url.empty()) from.metadata_url = "http://169.254.169.254";
    }
    return from;
}

std::shared_ptr<credentials> credentials::make(net::loop& where, credential_settings from) {
    return std::make_shared<credentials>(where, std::move(from));
}

credentials::credentials(net::loop& where, credential_settings from)
    : net::refreshed<key_pair>{
          where, "credentials of AWS",
          [&where, all = std::make_shared<const credential_settings>(std::move(from))](
              instant until) { return find_keys(where, all, until); }} {}

}  // namespace pawl::aws
