#include "engines/azblob/client/credentials.hpp"

#include "base/ascii.hpp"

#include <cstdlib>
#include <utility>

namespace pawl::azblob {
namespace {

std::string variable(const char* name) {
    const auto* value = std::getenv(name);
    return value == nullptr ? std::string{} : std::string{value};
}

}  // namespace

credential_settings credentials_of_environment() {
    credential_settings from;
    from.key = variable("AZURE_STORAGE_KEY");
    from.signature = variable("AZURE_STORAGE_SAS_TOKEN");
    from.tenant = variable("AZURE_TENANT_ID");
    from.client = variable("AZURE_CLIENT_ID");
    from.identity_file = variable("AZURE_FEDERATED_TOKEN_FILE");
    from.authority = variable("AZURE_AUTHORITY_HOST");
    if (from.authority.empty()) from.authority = "https://login.microsoftonline.com";
    from.app_endpoint = variable("IDENTITY_ENDPOINT");
    from.app_header = variable("IDENTITY_HEADER");
    from.metadata_url = variable("AZURE_POD_IDENTITY_AUTHORITY_HOST");
    if (from.metadata_url.empty()) from.metadata_url = "http://169.254.169.254";
    return from;
}

connection_text parse_connection_string(std::string_view text) {
    connection_text made;
    std::string protocol = "https", suffix = "core.windows.net";
    const std::pair<std::string_view, std::string*> known[] = {
        {"accountname", &made.account},
        {"accountkey", &made.key},
        {"sharedaccesssignature", &made.signature},
        {"blobendpoint", &made.endpoint},
        {"defaultendpointsprotocol", &protocol},
        {"endpointsuffix", &suffix}};
    while (!text.empty()) {
        const auto end = text.find(';');
        const auto one = base::trimmed(text.substr(0, end));
        const auto equals = one.find('=');
        if (equals != std::string_view::npos)
            for (const auto& [name, value] : known)
                if (base::equals_ignoring_case(one.substr(0, equals), name))
                    *value = one.substr(equals + 1);
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    if (made.endpoint.empty() && !made.account.empty())
        made.endpoint = protocol + "://" + made.account + ".blob." + suffix;
    return made;
}

std::shared_ptr<credentials> credentials::make(net::loop& where, credential_settings from) {
    return std::make_shared<credentials>(where, std::move(from));
}

credentials::credentials(net::loop& where, credential_settings from)
    : net::refreshed<access>{
          where, "credentials of Azure",
          [&where, all = std::make_shared<const credential_settings>(std::move(from))](
              instant until) { return find_access(where, all, until); }} {}

}  // namespace pawl::azblob
