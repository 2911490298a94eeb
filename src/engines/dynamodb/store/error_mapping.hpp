// What DynamoDB answers when it does not do what it is asked.
#pragma once

#include "engines/aws/client/error_mapping.hpp"

#include <pawl/errors.hpp>

#include <string>
#include <string_view>

namespace pawl::dynamodb {

using aws::effect;
using aws::rejection;

// Of the body of an answer. The type is empty where it is none of DynamoDB's.
rejection read_rejection(unsigned status, std::string_view body);

// Of one statement of a batch, by its code.
failure explain_statement(const std::string& place, std::string_view code);

}  // namespace pawl::dynamodb
