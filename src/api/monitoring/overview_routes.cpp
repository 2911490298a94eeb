#include "api/monitoring/overview_routes.hpp"

#include "api/monitoring/overview.hpp"
#include "api/request/query_parameters.hpp"

#include <utility>

namespace pawl::api {
namespace {

boost::asio::awaitable<http::response> show(shared_context around, shared_call asked) {
    if (auto fault = query_fault(*asked, {})) co_return std::move(*fault);
    auto asking = overview(std::move(around));
    const auto found = co_await std::move(asking);
    http::response made{200};
    made.set("Content-Type", "application/json");
    made.set("Cache-Control", "no-store");
    made.shared_body = found->text;
    co_return made;
}

}  // namespace

routes overview_routes(shared_context around) {
    routes all;
    all.push_back({"GET", "/api/v1/overview", access::viewer,
                   [around = std::move(around)](shared_call asked) {
                       return show(around, std::move(asked));
                   }});
    return all;
}

}  // namespace pawl::api
