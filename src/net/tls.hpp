// TLS as a client: the peer's certificate and name are always verified.
#pragma once

#include "net/tls_settings.hpp"

#include <pawl/errors.hpp>
#include <pawl/spi/examination.hpp>

#include <boost/asio/ssl/context.hpp>
#include <boost/system/error_code.hpp>

#include <memory>
#include <string>

namespace pawl::net {

// TLS 1.2 or newer. A file that cannot be read or parsed, or a key that does not fit, is `denied`.
result<std::shared_ptr<boost::asio::ssl::context>> make_tls_context(const tls_settings& settings);

// Asks the peer for `name` (SNI, unless it is an address) and rejects a certificate for another.
void expect_peer(SSL* session, const std::string& name);

// Why a handshake failed: a certificate problem on either side is `denied`, a peer that speaks
// something else is `protocol`, anything else is `unreachable`.
failure explain_handshake(SSL* session, const boost::system::error_code& error);

// How long the certificate of the peer of a finished handshake is still valid, as the finding
// "tls": a warning in its last 30 days, a failure in its last 3.
finding examine_peer(const SSL* session);

}  // namespace pawl::net
