// Routes that read and change the journal, where there is one.
#pragma once

#include "api/request/call.hpp"
#include "api/request/context.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <optional>
#include <string>

namespace pawl::api {

using journal_answer =
    std::function<boost::asio::awaitable<http::response>(shared_context, shared_call)>;

// 501 where the agent keeps no journal: its store cannot, and its configuration names none.
answerer with_journal(shared_context around, journal_answer answer);

// 429 where the user has changed so much in this hour that they have to wait. On the loop.
std::optional<http::response> changes_fault(const context& around, const call& asked);
// Appends to the audit what the user has changed, and counts it for that.
boost::asio::awaitable<void> audit_change(shared_context around, shared_call asked,
                                          std::string action, std::string target,
                                          std::string detail);

}  // namespace pawl::api
