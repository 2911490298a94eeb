// Server-sent events out of the pieces in which they arrive.
#pragma once

#include <pawl/errors.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::client {

// More than that without an end is no event of an agent.
constexpr std::size_t event_bytes_max = std::size_t{4} * 1024 * 1024;

struct event {
    std::string name;  // "message" where none is given
    std::string data;
    std::string id;  // of this event, or the last that had one
};

class event_reader {
public:
    void take(std::string_view bytes) { waiting_ += bytes; }
    // The next one that is complete. `protocol`: longer than event_bytes_max.
    result<std::optional<event>> next();

private:
    std::optional<std::string> line();
    void take_line(std::string_view text);

    std::string waiting_;
    std::size_t read_ = 0;  // of it
    event made_;
};

}  // namespace pawl::client
