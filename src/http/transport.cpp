#include "http/transport.hpp"

#include "base/ensure.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace pawl::http {
namespace {

constexpr std::size_t record_bytes_max = std::size_t{16} * 1024;

int descriptor_of(BIO* bio) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

// OpenSSL's own socket BIO writes without MSG_NOSIGNAL: a peer that has gone would kill the
// process.
int bio_send(BIO* bio, const char* bytes, int count) {
    BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    const auto sent =
        ::send(descriptor_of(bio), bytes, static_cast<std::size_t>(count), MSG_NOSIGNAL);
    if (sent < 0 && would_block()) BIO_set_flags(bio, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY);
    return static_cast<int>(sent);
}

int bio_receive(BIO* bio, char* into, int count) {
    BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    const auto got = ::recv(descriptor_of(bio), into, static_cast<std::size_t>(count), 0);
    if (got < 0 && would_block()) BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
    return static_cast<int>(got);
}

long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* socket_method() {
    static const BIO_METHOD* const method = [] {
        auto* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "pawl socket");
        base::ensure(made != nullptr);
        BIO_meth_set_write(made, bio_send);
        BIO_meth_set_read(made, bio_receive);
        BIO_meth_set_ctrl(made, bio_control);
        return made;
    }();
    return method;
}

}  // namespace

void transport::session_end::operator()(SSL* session) const noexcept { SSL_free(session); }

bool transport::start_tls(SSL_CTX* context) {
    session_.reset(SSL_new(context));
    auto* bio = BIO_new(socket_method());
    if (!session_ || bio == nullptr) {
        BIO_free(bio);
        session_.reset();
        return false;
    }
    // A number in the place that OpenSSL has for a pointer.
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor_)));
    BIO_set_init(bio, 1);
    SSL_set_bio(session_.get(), bio, bio);
    SSL_set_accept_state(session_.get());
    return true;
}

transport::outcome transport::explain(int returned) {
    switch (SSL_get_error(session_.get(), returned)) {
        case SSL_ERROR_WANT_READ:
            return outcome::wants_read;
        case SSL_ERROR_WANT_WRITE:
            return outcome::wants_write;
        case SSL_ERROR_ZERO_RETURN:
            return outcome::ended;
        default:
            return outcome::failed;
    }
}

transport::outcome transport::shake_hands() {
    ERR_clear_error();
    const int returned = SSL_do_handshake(session_.get());
    return returned == 1 ? outcome::done : explain(returned);
}

transport::step transport::receive(char* into, std::size_t bytes) {
    if (session_) {
        ERR_clear_error();
        std::size_t got = 0;
        const int returned = SSL_read_ex(session_.get(), into, bytes, &got);
        return {returned == 1 ? outcome::done : explain(returned), got};
    }
    return discard(into, bytes);
}

transport::step transport::discard(char* into, std::size_t bytes) {
    const auto got = ::recv(descriptor_, into, bytes, MSG_DONTWAIT);
    if (got > 0) return {outcome::done, static_cast<std::size_t>(got)};
    if (got == 0) return {outcome::ended, 0};
    return {would_block() ? outcome::wants_read : outcome::failed, 0};
}

transport::step transport::send(const iovec* pieces, std::size_t count) {
    if (session_) {
        ERR_clear_error();
        std::size_t sent = 0;
        const auto bytes = std::min(pieces->iov_len, record_bytes_max);
        const int returned = SSL_write_ex(session_.get(), pieces->iov_base, bytes, &sent);
        return {returned == 1 ? outcome::done : explain(returned), sent};
    }
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces);
    message.msg_iovlen = count;
    const auto sent = ::sendmsg(descriptor_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return {outcome::done, static_cast<std::size_t>(sent)};
    return {would_block() ? outcome::wants_write : outcome::failed, 0};
}

void transport::end_sending() {
    if (session_) {
        ERR_clear_error();
        SSL_shutdown(session_.get());
    }
    ::shutdown(descriptor_, SHUT_WR);
}

int transport::peek() const {
    unsigned char first = 0;
    const auto got = ::recv(descriptor_, &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0) return first;
    return got < 0 && would_block() ? -1 : -2;
}

bool transport::peer_has_ended() const {
    tcp_info info{};
    socklen_t bytes = sizeof info;
    if (::getsockopt(descriptor_, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return true;
    return info.tcpi_state != TCP_ESTABLISHED;
}

}  // namespace pawl::http
