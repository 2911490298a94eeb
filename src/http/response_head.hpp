// The status line and the fields of a response, as they are sent.
#pragma once

#include "http/message.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::http {

// How the other side learns where the body ends.
enum class framing { none, length, chunked, by_close };
enum class persistence { keep, keep_said, close };  // HTTP/1.0 has to be told that it is kept

struct head_facts {
    framing body = framing::none;
    std::uint64_t length = 0;
    persistence connection = persistence::keep;
    std::string_view date{};
};

// Nothing when a field of the response would break the message: a name that is none, or a line end
// in a value. Fields that are the server's own are left out.
std::optional<std::string> head_of(const response& answered, const head_facts& facts);

// Statuses whose response has no body, whatever it says.
bool has_no_body(unsigned status) noexcept;
std::string_view reason_of(unsigned status) noexcept;

}  // namespace pawl::http
