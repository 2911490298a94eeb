// One request of the API as its route sees it: who asks, and what the path and the query say.
#pragma once

#include "config/settings.hpp"
#include "http/message.hpp"
#include "http/router.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace pawl::api {

// Who may. Each may what those before it may.
enum class access { open, viewer, client, operator_, admin };

// Of what costs much a user may have only some under way.
enum class cost { little, much };

struct caller {
    std::string name{};  // for the audit; empty where no credentials are needed
    config::user_role role = config::user_role::viewer;
};

struct call {
    std::shared_ptr<const http::request> request{};
    http::parameters path{};
    http::parameters query{};
    caller who{};
    // Whether the credentials are good still, for what is answered much later. Empty: they are.
    std::function<bool()> is_still_admitted{};
};
using shared_call = std::shared_ptr<const call>;

using answerer = std::function<boost::asio::awaitable<http::response>(shared_call)>;

struct route {
    std::string method;
    std::string pattern;  // as http::router has it
    access needs = access::admin;
    answerer answer;
    cost costs = cost::little;
};
using routes = std::vector<route>;

}  // namespace pawl::api
