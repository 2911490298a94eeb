// The blobs of one storage account.
#pragma once

#include "engines/azblob/client/credentials.hpp"
#include "net/https/authorized_service.hpp"
#include "net/https/https_pool.hpp"

#include <memory>
#include <string>
#include <string_view>

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
class service final : public net::authorized_service<access> {
public:
    static std::shared_ptr<service> make(net::loop& where, service_settings settings);
    // Use make(). Requests are asked for by targets behind the endpoint's path.
    service(net::loop& where, service_settings settings);

private:
    result<net::https_request> authorize(net::https_request request,
                                         const access& by) const override;
    net::remedy find_remedy(const net::https_response& answer, const access& used) const override;

    // Constant after construction
    const std::string account_;
    const std::string path_;
    const bool may_send_tokens_;
};

// Of an answer that is no success: such as BlobNotFound. Empty where it is not Azure's.
std::string_view error_code(const net::https_response& answer);

}  // namespace pawl::azblob
