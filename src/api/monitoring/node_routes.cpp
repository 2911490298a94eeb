#include "api/monitoring/node_routes.hpp"

#include "api/request/journal_need.hpp"
#include "api/request/json_body.hpp"
#include "api/request/problem.hpp"
#include "api/request/query_parameters.hpp"
#include "documents/documents.hpp"

#include <utility>

namespace pawl::api {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;

awaitable<http::response> list_nodes(shared_context around, shared_call asked) {
    if (auto fault = query_fault(*asked, {})) co_return std::move(*fault);
    const auto as_of = documents::now_text();
    auto listing = around->records->list_nodes();
    const auto found = co_await std::move(listing);
    if (found.has_error()) co_return problem_of(found.error());
    json::array nodes;
    for (const auto& one : *found) nodes.push_back(documents::json_of(one));
    json::object document;
    document["nodes"] = std::move(nodes);
    document["next"] = "";
    document["as_of"] = as_of;
    co_return tagged_response(*asked, document, {"as_of"});
}

}  // namespace

routes node_routes(shared_context around) {
    routes all;
    all.push_back({"GET", "/api/v1/nodes", access::viewer,
                   with_journal(std::move(around), list_nodes), cost::much});
    return all;
}

}  // namespace pawl::api
