// What the query of a request says, and what is wrong with it.
#pragma once

#include "api/request/call.hpp"
#include "http/message.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <variant>

namespace pawl::api {

// 400 where a parameter is none of these, with the nearest: a misspelt filter shows everything.
std::optional<http::response> query_fault(const call& asked,
                                          std::initializer_list<std::string_view> known);

// A whole number of the query, or `otherwise` where it is not there. 400 where it is none.
std::variant<std::int64_t, http::response> integer_of(const call& asked, std::string_view name,
                                                      std::int64_t least, std::int64_t most,
                                                      std::int64_t otherwise);

}  // namespace pawl::api
