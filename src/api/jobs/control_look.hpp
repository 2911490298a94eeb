// The control state without what may be long in it, as the routes look at it.
//
// As it is read it may have megabytes: the arguments of a thousand queued runs. So one reading is
// under way at a time, and those who ask meanwhile share the next.
#pragma once

#include "api/request/context.hpp"
#include "engines/rules/journal/control_limits.hpp"

#include <pawl/errors.hpp>
#include <pawl/spi/journal.hpp>

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>
#include <unordered_map>

namespace pawl::api {

struct control_look {
    control_state seen{};  // its triggers without arguments
    journals::queue_size queued{};
    std::unordered_map<std::string, journals::queue_size> queued_of{};  // by job

    journals::queue_size queued_of_job(const std::string& name) const;
};

// Shared by those who asked at the same time.
using control_answer = std::shared_ptr<const result<control_look>>;

// Begun after it was asked for, so whatever was written before is seen in it. On the loop.
boost::asio::awaitable<control_answer> look_at_control(shared_context around);

}  // namespace pawl::api
