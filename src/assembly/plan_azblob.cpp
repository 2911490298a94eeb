#include "assembly/parameters.hpp"
#include "assembly/planners.hpp"
#include "base/text.hpp"
#include "engines/azblob/store/azblob_store.hpp"

#include <cstdlib>
#include <string>

namespace pawl::assembly {
namespace {

void reject_fault(const char* what, const std::string& name,
                  const std::optional<std::string>& fault) {
    if (fault)
        throw option_error{"azblob: invalid " + std::string{what} + " '" + base::printable(name) +
                           "'; " + *fault};
}

// The account, the container and the prefix.
void take_place(const base::store_url& url, azblob::azblob_settings& into) {
    if (url.user || url.password || url.find("sas") != nullptr)
        throw option_error{
            "azblob: keys have no place in the URL; expected AZURE_STORAGE_KEY, "
            "AZURE_STORAGE_SAS_TOKEN, key_file=, sas_file=, or the identity of the host"};
    const auto account = url.endpoints.size() == 1 && url.endpoints.front().port == 0
                             ? url.endpoints.front().host
                             : std::string{};
    if (account.empty())
        throw option_error{
            "azblob: takes an account and a container; expected "
            "azblob://ACCOUNT/CONTAINER[/PREFIX], such as azblob://mycompany/locks"};
    reject_fault("account", account, azblob::account_fault(account));
    into.service.account = account;
    const auto slash = url.path.find('/');
    into.container = url.path.substr(0, slash);
    reject_fault("container", into.container, azblob::container_fault(into.container));
    if (slash != std::string::npos) {
        into.prefix = url.path.substr(slash + 1);
        reject_fault("prefix", into.prefix, azblob::prefix_fault(into.prefix));
    }
    if (into.common.name_space.ends_with('.'))
        throw option_error{"azblob: invalid namespace '" + into.common.name_space +
                           "'; expected no dot at its end, which Azure loses"};
}

// Where the account is asked, and who asks. A connection string says both.
void take_service(parameters& query, azblob::service_settings& into) {
    const auto tls = take_tls(query);
    into.keys = azblob::credentials_of_environment();
    into.keys.key_file = query.text("key_file").value_or("");
    into.keys.signature_file = query.text("sas_file").value_or("");
    auto endpoint = query.text("endpoint").value_or("");
    if (const auto* text = std::getenv("AZURE_STORAGE_CONNECTION_STRING");
        text != nullptr && *text != '\0') {
        const auto told = azblob::parse_connection_string(text);
        if (!told.account.empty() && told.account != into.account)
            throw option_error{"azblob: AZURE_STORAGE_CONNECTION_STRING is of the account '" +
                               base::printable(told.account) + "'; expected that of the URL, '" +
                               into.account + "'"};
        into.keys.key = told.key;
        into.keys.signature = told.signature;
        if (endpoint.empty()) endpoint = told.endpoint;
    }
    if (endpoint.empty()) endpoint = "https://" + into.account + ".blob.core.windows.net";
    if (!azblob::take_endpoint(into, endpoint))
        throw option_error{"invalid endpoint '" + base::printable(endpoint) +
                           "'; expected http://host[:port][/path] or https://host[:port][/path]"};
    // Copied there some minutes late.
    if (into.at.host.find("-secondary.") != std::string::npos)
        throw option_error{"azblob: the secondary endpoint answers what was; expected the primary"};
    into.at.tls = tls;
}

}  // namespace

store_plan plan_azblob(const base::store_url& url) {
    parameters query{url};
    store_plan plan;
    plan.settings = take_settings(query);
    azblob::azblob_settings settings;
    settings.common = plan.settings;
    settings.skew = query.duration("skew");
    take_place(url, settings);
    take_service(query, settings.service);
    query.finish();
    plan.make = [settings](net::loop& where) { return azblob::make_azblob_store(where, settings); };
    return plan;
}

}  // namespace pawl::assembly
