// Who asks, as AWS sees it: keys from where its own tools look for them, renewed before they end.
//
// In this order: the environment, a web identity, a profile of the shared files, the endpoint of a
// container (ECS, EKS Pod Identity), the metadata of the instance (IMDSv2). The first that is
// configured is asked, and what it answers counts. No message quotes a key or an answer.
#pragma once

#include "engines/aws/client/signature.hpp"
#include "net/event.hpp"
#include "net/loop.hpp"

#include <pawl/clock.hpp>
#include <pawl/spi/async.hpp>

#include <memory>
#include <optional>
#include <string>

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

// On its loop only.
class credentials : public std::enable_shared_from_this<credentials> {
public:
    static std::shared_ptr<credentials> make(net::loop& where, credential_settings from);
    // Use make().
    credentials(net::loop& where, credential_settings from);

    // `denied`: there are none, or they were refused. `unreachable`: who gives them did not answer.
    async<key_pair> get(instant until);

    // The service has refused them as old: the next get() fetches them anew.
    void forget() noexcept {
        fresh_until_ = {};
        ends_ = {};
    }

    // Where those that are used are from, for people; empty: there were none yet.
    const std::string& source() const noexcept { return source_; }

private:
    struct fetching {
        net::event done;
    };
    static boost::asio::awaitable<void> fetch(std::shared_ptr<credentials> self,
                                              std::shared_ptr<fetching> mine);

    // Constant after construction
    net::loop& where_;
    const std::shared_ptr<const credential_settings> from_;
    // On the loop only
    std::optional<key_pair> keys_;
    instant fresh_until_{};  // then they are fetched again, and used meanwhile
    instant ends_{};         // then they are not used any more
    std::string source_;
    std::optional<failure> why_not_;
    instant not_before_{};  // after a failure
    std::shared_ptr<fetching> fetching_;
};

}  // namespace pawl::aws
