// What went wrong, as RFC 9457 has it: application/problem+json.
#pragma once

#include "http/message.hpp"

#include <pawl/errors.hpp>

#include <boost/json.hpp>

#include <chrono>
#include <string_view>

namespace pawl::api {

// `detail` is one line: what is wrong, where, and what would be right. `title` is the status in
// words.
http::response problem(unsigned status, std::string_view detail);
// With further members, such as the holder of a busy key.
http::response problem(unsigned status, std::string_view detail, boost::json::object more);

// 503, with Retry-After where asking again may help (unreachable, outcome_unknown; not rejected);
// 501 for what the store cannot do; 502 otherwise.
http::response problem_of(const failure& why);
// The same for a list: a cursor that no page gave is `rejected` as well, and the caller's fault.
http::response problem_of_page(const failure& why, std::string_view after);

// 503 with Retry-After: a change that may have been made.
http::response unknown_outcome(std::string_view detail, boost::json::object more = {});

// 429: a user has as many of something as one user may have.
http::response too_many(std::string_view detail, std::chrono::seconds retry);

}  // namespace pawl::api
