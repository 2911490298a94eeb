// The blobs of one storage account: requests that are authorized, and sent over connections that
// are kept.
#pragma once

#include "engines/azblob/client/credentials.hpp"
#include "net/https/https_pool.hpp"
#include "net/https/server_clock.hpp"

#include <pawl/spi/async.hpp>
#include <pawl/spi/examination.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::azblob {

struct service_settings {
    net::https_settings at{};
    std::string path{};  // of the endpoint, such as /devstoreaccount1; empty: none
    std::string account{};
    credential_settings keys{};
};

// https://host[:port][/path] of an endpoint; false for any other text.
bool take_endpoint(service_settings& into, std::string_view text);

// On its loop only.
class service : public std::enable_shared_from_this<service> {
public:
    static std::shared_ptr<service> make(net::loop& where, service_settings settings);
    // Use make().
    service(net::loop& where, service_settings settings);
    ~service() { pool_->close(); }
    service(const service&) = delete;
    service& operator=(const service&) = delete;

    // As https_pool::ask(), for a target behind the endpoint's path. Credentials that the service
    // finds too old, and a clock that it finds wrong, are put right, and it is asked once more: it
    // has done nothing.
    async<net::https_response> ask(net::https_request request, instant until);

    // Which credentials are used, and the certificate.
    std::vector<finding> examine() const;

private:
    result<net::https_request> authorized(net::https_request request, const access& by) const;
    enum class remedy { none, other_keys, other_time };
    remedy find_remedy(const net::https_response& answer, access::kind used) const;

    // Constant after construction
    const std::string account_;
    const std::string path_;
    const bool may_send_tokens_;
    const std::shared_ptr<net::https_pool> pool_;
    const std::shared_ptr<credentials> keys_;
    // State
    net::server_clock clock_;
};

// Of an answer that is no success: such as BlobNotFound. Empty where it is not Azure's.
std::string_view error_code(const net::https_response& answer);

}  // namespace pawl::azblob
