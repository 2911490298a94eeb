// The bytes of one accepted connection, with or without TLS. Nothing here waits: what cannot be
// done now says what has to come first.
//
// Not Asio's TLS stream: that keeps 34 KiB of buffers for each connection, however idle.
#pragma once

#include <openssl/types.h>

#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <string>

namespace pawl::http {

class transport {
public:
    enum class outcome { done, wants_read, wants_write, ended, failed };
    struct step {
        outcome what = outcome::failed;
        std::size_t bytes = 0;
    };

    // Does not own the descriptor.
    explicit transport(int descriptor) noexcept : descriptor_{descriptor} {}

    // From here on bytes are TLS records. False when there is no memory for it.
    bool start_tls(SSL_CTX* context);
    bool is_secure() const noexcept { return session_ != nullptr; }
    outcome shake_hands();

    step receive(char* into, std::size_t bytes);
    // The pieces, none of which is empty, one after another.
    step send(const iovec* pieces, std::size_t count);
    // Says that nothing more will be sent.
    void end_sending();
    // Receives what no caller wants to read any more, as it comes.
    step discard(char* into, std::size_t bytes);

    // The first byte that waits, unread: -1 when none does, -2 when none will come any more.
    int peek() const;
    // The other side has closed, or half-closed, the connection; also behind what is unread.
    bool peer_has_ended() const;

private:
    struct session_end {
        void operator()(SSL* session) const noexcept;
    };
    outcome explain(int returned);

    int descriptor_;
    std::unique_ptr<SSL, session_end> session_;
};

}  // namespace pawl::http
