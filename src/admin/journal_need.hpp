// Routes that read the journal, where there is one.
#pragma once

#include "admin/call.hpp"
#include "admin/surroundings.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>

namespace pawl::admin {

using journal_answer =
    std::function<boost::asio::awaitable<http::response>(shared_surroundings, shared_call)>;

// 501 where the agent keeps no journal: its store cannot, and its configuration names none.
answerer with_journal(shared_surroundings around, journal_answer answer);

}  // namespace pawl::admin
