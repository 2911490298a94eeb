#include "http/certificate.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace pawl::http {
namespace {

constexpr std::string_view protocol_spoken = "http/1.1";

// Why OpenSSL failed: the first of its errors, which names the cause.
std::string last_error() {
    const auto code = ERR_get_error();
    const char* reason = ERR_reason_error_string(code);
    if (ERR_SYSTEM_ERROR(code)) return std::generic_category().message(ERR_GET_REASON(code));
    return reason == nullptr ? "no reason is given" : reason;
}

failure unusable(std::string_view what, const std::string& file, const std::string& why) {
    return {errc::denied, file + ": the TLS " + std::string{what} + " cannot be used: " + why};
}

// Forward secrecy and authenticated encryption, also where a client would do with less. All suites
// of TLS 1.3 encrypt so.
constexpr auto suites_of_tls_1_2 = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr auto groups = "X25519:P-256:X448:P-521:P-384";

// ALPN: a client that asks for protocols, and not for ours, is told so by an alert.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_bytes,
                    const unsigned char* offered, unsigned offered_bytes, void*) {
    for (unsigned at = 0; at < offered_bytes; at += offered[at] + 1U) {
        const std::size_t bytes = offered[at];
        if (at + 1 + bytes > offered_bytes) break;
        const std::string_view name{reinterpret_cast<const char*>(offered) + at + 1, bytes};
        if (name != protocol_spoken) continue;
        *chosen = offered + at + 1;
        *chosen_bytes = static_cast<unsigned char>(bytes);
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

// A key under a passphrase would have OpenSSL ask the terminal.
int no_passphrase(char*, int, int, void*) { return 0; }

bool is_finished(const SSL_CTX* context) {
    const auto* own = SSL_CTX_get0_certificate(context);
    return own == nullptr || X509_cmp_current_time(X509_get0_notAfter(own)) <= 0;
}

}  // namespace

void certificate::context_end::operator()(SSL_CTX* context) const noexcept {
    SSL_CTX_free(context);
}

result<certificate::context> certificate::read(const tls_identity& files) {
    ERR_clear_error();
    context made{SSL_CTX_new(TLS_server_method())};
    if (!made) return failure{errc::denied, "TLS cannot be set up: " + last_error()};
    SSL_CTX_set_min_proto_version(made.get(), TLS1_2_VERSION);
    if (SSL_CTX_set_cipher_list(made.get(), suites_of_tls_1_2) != 1 ||
        SSL_CTX_set1_groups_list(made.get(), groups) != 1)
        return failure{errc::denied, "TLS cannot be set up: " + last_error()};
    SSL_CTX_set_options(made.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                        SSL_OP_CIPHER_SERVER_PREFERENCE);
    // Idle connections keep no buffers; sessions are kept by tickets, which the client keeps.
    SSL_CTX_set_mode(made.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                     SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(made.get(), SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(made.get(), choose_protocol, nullptr);
    SSL_CTX_set_default_passwd_cb(made.get(), no_passphrase);
    if (SSL_CTX_use_certificate_chain_file(made.get(), files.certificate.c_str()) != 1)
        return unusable("certificate", files.certificate, last_error());
    if (SSL_CTX_use_PrivateKey_file(made.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1)
        return unusable("key", files.key, last_error());
    if (SSL_CTX_check_private_key(made.get()) != 1)
        return unusable("key", files.key, "it does not fit " + files.certificate);
    if (is_finished(made.get()))
        return unusable("certificate", files.certificate, "its time is over: renew it");
    return made;
}

// What changes whenever a file is written or replaced, also behind a link.
std::string certificate::state_of(const tls_identity& files) {
    std::string state;
    for (const auto* file : {&files.certificate, &files.key}) {
        struct stat found{};
        if (::stat(file->c_str(), &found) != 0) {
            state += std::to_string(errno) + ' ';
            continue;
        }
        for (const long long number :
             {static_cast<long long>(found.st_dev), static_cast<long long>(found.st_ino),
              static_cast<long long>(found.st_size), static_cast<long long>(found.st_mtim.tv_sec),
              static_cast<long long>(found.st_mtim.tv_nsec),
              static_cast<long long>(found.st_ctim.tv_sec),
              static_cast<long long>(found.st_ctim.tv_nsec)})
            state += std::to_string(number) + ' ';
    }
    return state;
}

result<std::unique_ptr<certificate>> certificate::open(tls_identity files, instant now) {
    // Looked at before it is read: what is written in between is then read again.
    auto state = state_of(files);
    auto read_now = read(files);
    if (read_now.has_error()) return read_now.error();
    std::unique_ptr<certificate> made{new certificate};
    made->files_ = std::move(files);
    made->state_ = std::move(state);
    made->looked_at_ = now;
    made->context_ = std::move(*read_now);
    return made;
}

SSL_CTX* certificate::current(instant now, const std::function<void(std::string_view)>& warn) {
    if (now - looked_at_ < certificate_looked_at_every) return context_.get();
    looked_at_ = now;
    auto state = state_of(files_);
    if (state == state_) return context_.get();
    state_ = std::move(state);
    if (auto read_now = read(files_); read_now.has_value())
        context_ = std::move(*read_now);
    else if (warn)
        warn(read_now.error().detail + "; the old one stays");
    return context_.get();
}

}  // namespace pawl::http
