// One service of AWS.
#pragma once

#include "engines/aws/client/credentials.hpp"
#include "engines/aws/client/signature.hpp"
#include "net/https/authorized_service.hpp"
#include "net/https/https_pool.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace pawl::aws {

struct service_settings {
    net::https_settings at{};
    scope where{};
    credential_settings keys{};
};

// On its loop only.
class service final : public net::authorized_service<key_pair> {
public:
    static std::shared_ptr<service> make(net::loop& where, service_settings settings);
    // Use make().
    service(net::loop& where, service_settings settings);

private:
    result<net::https_request> authorize(net::https_request request,
                                         const key_pair& keys) const override;
    net::remedy find_remedy(const net::https_response& answer, const key_pair& used) const override;

    // Constant after construction
    const scope scope_;
    const std::string host_;
};

}  // namespace pawl::aws
