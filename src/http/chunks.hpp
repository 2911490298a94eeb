// A body in chunks, put together.
//
// Not Beast's: from a chunk extension without its end it makes different bodies, depending on where
// the network cuts the bytes.
// Source: RFC 9112, 7.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::http {

class chunk_reader {
public:
    enum class state { more, complete, faulty, too_large };

    // So many bytes in all chunks together; and in one line, or in all trailers.
    chunk_reader(std::size_t body_bytes_max, std::size_t line_bytes_max)
        : body_bytes_max_{body_bytes_max}, line_bytes_max_{line_bytes_max} {}

    // Appends to `body` and returns how many of the bytes are done with. The others have to come
    // again, with what follows them.
    std::size_t read(std::string_view bytes, std::string& body);
    state where() const noexcept { return state_; }

private:
    enum class part { size, data, data_end, trailers };

    void take_size(std::string_view line, std::size_t had);
    void take_trailer(std::string_view line);

    std::size_t body_bytes_max_;
    std::size_t line_bytes_max_;
    state state_ = state::more;
    part part_ = part::size;
    std::size_t left_ = 0;  // of the chunk
    std::size_t trailer_bytes_ = 0;
};

}  // namespace pawl::http
