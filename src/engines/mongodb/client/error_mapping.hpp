// What a server, or the client library, answers when it does not do what it is asked.
#pragma once

#include <pawl/errors.hpp>

#include <cstdint>
#include <string>

namespace pawl::mongodb {

// Whether a command changes something if it is carried out.
enum class effect { none, writes };

struct server_error {
    // Of libmongoc, or MONGOC_ERROR_SERVER where the server itself has rejected.
    std::uint32_t domain = 0;
    std::uint32_t code = 0;
    std::string words;
};

// Of an error that is a part of an answer.
server_error said_by_server(std::int64_t code, std::string words);

// The connection was lost while an answer was awaited.
bool is_cut(const server_error& error) noexcept;
// The server does not know such a command.
bool is_unknown_command(const server_error& error) noexcept;

// `place` begins the message.
failure explain_rejection(const std::string& place, const server_error& error, effect asked);

}  // namespace pawl::mongodb
