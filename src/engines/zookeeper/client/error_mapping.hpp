// What the codes of the C client mean to a caller.
#pragma once

#include "engines/zookeeper/client/request.hpp"

#include <pawl/errors.hpp>

#include <string_view>

namespace pawl::zookeeper {

// A code that is an answer of the tree, such as "no such node", is a value.
result<finding_code> judge_code(int code, bool wrote, std::string_view place,
                                std::string_view path);

}  // namespace pawl::zookeeper
