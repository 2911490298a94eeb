// Who a server shows itself to be under TLS: its certificate and key, read again when their files
// have changed.
#pragma once

#include "http/server.hpp"

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>

#include <openssl/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace pawl::http {

// How often the files are looked at, at most: once for all handshakes of that time.
constexpr millis certificate_looked_at_every{1'000};

class certificate {
public:
    // `denied` where a file cannot be read, the key does not fit or the time is over.
    static result<std::unique_ptr<certificate>> open(tls_identity files, instant now);

    // For one more handshake. A new certificate that is wrong is said in one line, once, and the
    // old one stays.
    SSL_CTX* current(instant now, const std::function<void(std::string_view)>& warn);

private:
    struct context_end {
        void operator()(SSL_CTX* context) const noexcept;
    };
    using context = std::unique_ptr<SSL_CTX, context_end>;

    certificate() = default;
    static result<context> read(const tls_identity& files);
    static std::string state_of(const tls_identity& files);

    tls_identity files_;
    std::string state_;  // of the files when they were read last, rightly or wrongly
    instant looked_at_;
    context context_;
};

}  // namespace pawl::http
