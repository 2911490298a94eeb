// What DynamoDB answers when it does not do what it is asked.
#pragma once

#include <pawl/errors.hpp>

#include <string>
#include <string_view>

namespace pawl::dynamodb {

// Whether a request changes something if it is carried out.
enum class effect { none, writes };

struct refusal {
    unsigned status = 0;
    std::string type;  // such as ThrottlingException
    std::string message;
};

// Of the body of an answer. The type is empty where it is none of DynamoDB's.
refusal read_refusal(unsigned status, std::string_view body);

// `place` begins the message. What is in a message of the service is quoted only where no secret
// can be in it: a wrong signature is explained with the session of the keys.
failure explain_refusal(const std::string& place, const refusal& what, effect asked);

// Of one statement of a batch, by its code.
failure explain_statement(const std::string& place, std::string_view code);

}  // namespace pawl::dynamodb
