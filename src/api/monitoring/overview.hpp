// Counts, charts, active runs and what needs attention, in one document.
#pragma once

#include "api/request/context.hpp"

#include <pawl/spi/async.hpp>

#include <boost/json.hpp>

#include <memory>
#include <string>

namespace pawl::api {

struct overview_document {
    std::shared_ptr<const boost::json::object> members;  // the schema Overview
    std::shared_ptr<const std::string> text;             // the same
};

// Worked out at most once a second for all who ask, and less often where that takes more than a
// tenth of the time: then it is some seconds old, as its as_of says. What cannot be read is told in
// it. On the loop only.
boost::asio::awaitable<std::shared_ptr<const overview_document>> overview(shared_context around);
async<std::shared_ptr<const boost::json::object>> overview_of(shared_context around);

}  // namespace pawl::api
