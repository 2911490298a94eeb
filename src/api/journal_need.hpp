// Routes that read the journal, where there is one.
#pragma once

#include "api/call.hpp"
#include "api/context.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>

namespace pawl::api {

using journal_answer =
    std::function<boost::asio::awaitable<http::response>(shared_context, shared_call)>;

// 501 where the agent keeps no journal: its store cannot, and its configuration names none.
answerer with_journal(shared_context around, journal_answer answer);

}  // namespace pawl::api
