// What Azure Storage answers when it does not do what it is asked.
#pragma once

#include "net/https/https_pool.hpp"

#include <pawl/errors.hpp>

#include <string>
#include <string_view>

namespace pawl::azblob {

// Whether a request changes something if it is carried out.
enum class effect { none, writes };

struct rejection {
    unsigned status = 0;
    std::string code;     // such as ServerBusy; empty where it is none of Azure's
    std::string message;  // one line
};
rejection read_rejection(const net::https_response& answer);

// Another version stands there than the one that was expected, or none.
bool is_conflict(const rejection& what);
bool lacks_blob(const rejection& what);
bool lacks_container(const rejection& what);

// `place` begins the message. What is in a message of the service is quoted only where no secret
// can be in it: a wrong signature is explained with what was signed.
failure explain_rejection(const std::string& place, const rejection& what, effect asked);

}  // namespace pawl::azblob
