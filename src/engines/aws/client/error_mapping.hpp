// What a service of AWS answers when it does not do what it is asked.
#pragma once

#include <pawl/errors.hpp>

#include <string>
#include <string_view>

namespace pawl::aws {

// Whether a request changes something if it is carried out.
enum class effect { none, writes };

struct rejection {
    unsigned status = 0;
    std::string type;  // such as ThrottlingException; empty: the answer is none of the service's
    std::string message;
};

// `place` begins the message, and `service` is what should answer there. What is in a message of
// the service is quoted only where no secret can be in it: a wrong signature is explained with the
// session of the keys.
failure explain_rejection(const std::string& place, std::string_view service, const rejection& what,
                          effect asked);

}  // namespace pawl::aws
