#include "net/tls.hpp"

#include "base/ensure.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>
#include <openssl/x509_vfy.h>

namespace pawl::net {
namespace {

bool is_address(const std::string& name) {
    boost::system::error_code error;
    boost::asio::ip::make_address(name, error);
    return !error;
}

bool is_pem(const std::string& text) { return text.starts_with("-----BEGIN "); }

failure bad_file(const std::string& what, const std::string& file,
                 const boost::system::error_code& error) {
    const auto which = is_pem(file) ? std::string{"that was given as text"} : file;
    return {errc::denied, "the TLS " + what + " " + which + " cannot be used: " + error.message()};
}

// Alerts by which a peer rejects our certificate, or the want of one.
bool rejects_certificate(int reason) {
    switch (reason) {
        case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
        case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
        case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
        case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
            return true;
        default:
            return false;
    }
}

}  // namespace

result<std::shared_ptr<boost::asio::ssl::context>> make_tls_context(const tls_settings& settings) {
    namespace ssl = boost::asio::ssl;
    auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
    SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
    boost::system::error_code error;
    context->set_verify_mode(ssl::verify_peer, error);
    const auto pem = ssl::context::pem;
    const auto bytes = [](const std::string& text) { return boost::asio::buffer(text); };
    if (settings.ca.empty())
        context->set_default_verify_paths(error);
    else if (is_pem(settings.ca))
        context->add_certificate_authority(bytes(settings.ca), error);
    else
        context->load_verify_file(settings.ca, error);
    if (error) return bad_file("authorities (ca)", settings.ca, error);
    if (settings.certificate.empty()) return context;
    if (is_pem(settings.certificate))
        context->use_certificate_chain(bytes(settings.certificate), error);
    else
        context->use_certificate_chain_file(settings.certificate, error);
    if (error) return bad_file("certificate (cert)", settings.certificate, error);
    const auto& key = settings.key.empty() ? settings.certificate : settings.key;
    if (is_pem(key))
        context->use_private_key(bytes(key), pem, error);
    else
        context->use_private_key_file(key, pem, error);
    if (error) return bad_file("key", key, error);
    return context;
}

void expect_peer(SSL* session, const std::string& name) {
    auto* expected = SSL_get0_param(session);
    if (is_address(name)) {
        base::ensure(X509_VERIFY_PARAM_set1_ip_asc(expected, name.c_str()) == 1);
        return;
    }
    // SSL_set_tlsext_host_name is a macro with an old-style cast.
    base::ensure(SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                          const_cast<char*>(name.c_str())) == 1);
    X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    base::ensure(X509_VERIFY_PARAM_set1_host(expected, name.c_str(), name.size()) == 1);
}

failure explain_handshake(SSL* session, const boost::system::error_code& error) {
    const auto status = SSL_get_verify_result(session);
    if (status != X509_V_OK)
        return {errc::denied, std::string{"the server's TLS certificate is rejected: "} +
                                  X509_verify_cert_error_string(status)};
    if (error.category() == boost::asio::error::get_ssl_category()) {
        const auto reason = ERR_GET_REASON(static_cast<unsigned long>(error.value()));
        if (rejects_certificate(reason))
            return {errc::denied, "the server rejects our TLS certificate: " + error.message()};
        return {errc::protocol, "the server does not speak TLS here: " + error.message()};
    }
    if (error == boost::asio::ssl::error::stream_truncated || error == boost::asio::error::eof ||
        error == boost::asio::error::connection_reset)
        return {errc::unreachable, "the server closed the connection during the TLS handshake"};
    return {errc::unreachable, "the TLS handshake failed: " + error.message()};
}

finding examine_peer(const SSL* session) {
    constexpr int days_warned = 30, days_failed = 3;
    const auto* certificate = SSL_get0_peer_certificate(session);
    int days = 0, seconds = 0;
    if (certificate == nullptr ||
        ASN1_TIME_diff(&days, &seconds, nullptr, X509_get0_notAfter(certificate)) != 1)
        return {severity::warn, "tls", "the server shows no certificate whose end can be read"};
    const auto text = "the server's certificate is valid for another " + std::to_string(days) +
                      (days == 1 ? " day" : " days");
    if (days < days_failed) return {severity::fail, "tls", text + ": renew it now"};
    if (days < days_warned) return {severity::warn, "tls", text + ": renew it"};
    return {severity::ok, "tls", text};
}

}  // namespace pawl::net
