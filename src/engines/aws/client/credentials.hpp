// Who asks, as AWS sees it: keys from where its own tools look for them, renewed before they end.
//
// In this order: the environment, a web identity, a profile of the shared files, the endpoint of a
// container (ECS, EKS Pod Identity), the metadata of the instance (IMDSv2). The first that is
// configured is asked, and what it answers counts. No message quotes a key or an answer.
#pragma once

#include "engines/aws/client/signature.hpp"
#include "net/loop.hpp"
#include "net/refreshed.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace pawl::aws {

// Where to look. All that is empty is not configured.
struct credential_settings {
    key_pair keys{};  // of the environment

    std::string role_arn{};  // of a web identity
    std::string role_session{};
    std::string identity_file{};  // whose content is the identity
    std::string sts_endpoint{};   // where it is exchanged for keys

    std::string profile = "default";
    bool profile_named = false;  // it has to be there then
    std::string credentials_file{};
    std::string config_file{};

    std::string container_url{};
    std::string container_token{};
    std::string container_token_file{};

    std::string metadata_url{};  // of the instance
};

// AWS_REGION, else AWS_DEFAULT_REGION; empty: neither is set.
std::string region_of_environment();

// What the environment of this process says.
credential_settings credentials_of_environment(std::string_view region);

// Its get() is `denied` where there are none or they were rejected, and `unreachable` where who
// gives them did not answer. On its loop only.
class credentials final : public net::refreshed<key_pair> {
public:
    static std::shared_ptr<credentials> make(net::loop& where, credential_settings from);
    // Use make().
    credentials(net::loop& where, credential_settings from);
};

}  // namespace pawl::aws
