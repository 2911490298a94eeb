// One service of AWS: requests that are signed, and sent over connections that are kept.
#pragma once

#include "engines/aws/client/credentials.hpp"
#include "engines/aws/client/signature.hpp"
#include "net/https/https_pool.hpp"
#include "net/https/server_clock.hpp"

#include <pawl/spi/async.hpp>
#include <pawl/spi/examination.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::aws {

struct service_settings {
    net::https_settings at{};
    scope where{};
    credential_settings keys{};
};

// On its loop only.
class service : public std::enable_shared_from_this<service> {
public:
    static std::shared_ptr<service> make(net::loop& where, service_settings settings);
    // Use make().
    service(net::loop& where, service_settings settings);
    ~service() { pool_->close(); }
    service(const service&) = delete;
    service& operator=(const service&) = delete;

    // As https_pool::ask(). Keys that the service finds too old, and a clock that it finds wrong,
    // are put right, and it is asked once more: it has done nothing.
    async<net::https_response> ask(net::https_request request, instant until);

    // Which keys are used, and the certificate.
    std::vector<finding> examine() const;

private:
    enum class remedy { none, other_keys, other_time };
    remedy find_remedy(const net::https_response& answer);

    // Constant after construction
    const scope scope_;
    const std::string host_;
    const std::shared_ptr<net::https_pool> pool_;
    const std::shared_ptr<credentials> keys_;
    // State
    net::server_clock clock_;
};

}  // namespace pawl::aws
