// Requests out of bytes, one after another and without a socket.
//
// Strict where RFC 9112 leaves a choice, since whatever two readers understand differently lets a
// request be smuggled past one of them: no folded lines, no bare CR or LF, one Content-Length or
// one Transfer-Encoding, one Host. Trailers are read and dropped.
#pragma once

#include "http/chunks.hpp"
#include "http/message.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::http {

// What is wrong with a request, as it is answered.
struct request_fault {
    unsigned status = 400;
    std::string detail;  // one line
};

class request_reader {
public:
    enum class state { between, head, body, complete, faulty };
    struct bounds {
        std::size_t head_bytes_max = 0;
        std::size_t body_bytes_max = 0;
        std::size_t fields_max = 100;
    };
    struct taken {
        std::shared_ptr<request> made;
        bool keeps_alive = false;
        bool is_http_1_0 = false;
        std::size_t bytes_held = 0;  // the memory that the request needs
    };

    explicit request_reader(const bounds& bounded);
    ~request_reader();
    request_reader(const request_reader&) = delete;
    request_reader& operator=(const request_reader&) = delete;

    // Takes all bytes, and reads to the end of one request at most; what follows is kept.
    state feed(std::string_view bytes);
    state where() const noexcept { return state_; }
    // Nothing has come since the last request.
    bool is_empty() const noexcept { return state_ == state::between && kept_.empty(); }
    // The head asks for 100 Continue, and nothing of the body is here. REQUIRES: in the body.
    bool awaits_continue() const noexcept;
    // REQUIRES: faulty, which is the end of it.
    const request_fault& fault() const noexcept { return fault_; }
    // The request that is complete. Reading goes on with what is kept, by feed({}).
    taken take();
    // The memory that the other side has made this need.
    std::size_t bytes_held() const noexcept;

private:
    class parser;

    std::size_t read(std::string_view bytes);
    std::size_t read_head(std::string_view bytes);
    std::size_t read_body(std::string_view bytes);
    std::size_t read_chunks(std::string_view bytes);
    bool scan_head(std::string_view bytes);
    bool fail(unsigned status, std::string detail);
    std::size_t bytes_of_request() const noexcept;

    bounds bounds_;
    state state_ = state::between;
    std::unique_ptr<parser> parser_;      // of the request that is being read
    std::optional<chunk_reader> chunks_;  // of its body, where it comes in chunks
    std::string kept_;                    // what no parser has taken yet
    std::size_t scanned_ = 0;             // so many bytes of the head have been looked at
    std::size_t head_bytes_ = 0;          // the memory of the head that has been read
    request_fault fault_;
};

}  // namespace pawl::http
