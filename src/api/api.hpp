// The API and the web UI as one handler for the server: which route, who may, and what every answer
// carries.
#pragma once

#include "api/auth/authorizer.hpp"
#include "api/limits/fair_semaphore.hpp"
#include "api/limits/user_quota.hpp"
#include "api/request/call.hpp"
#include "api/request/context.hpp"
#include "http/message.hpp"
#include "http/router.hpp"
#include "http/server.hpp"

#include <pawl/clock.hpp>

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::api {

// How long /healthz waits for the scheduler's loop.
constexpr millis health_timeout{2'000};
// Open routes ask the store and the journal at most that often.
constexpr millis open_answer_age_max{1'000};

// Answers that cost much (lists, whole runs and jobs, metrics) of one user, or of one address where
// without credentials: under way, beyond which it is 429; of these in work or not yet taken,
// while the others wait; and of these in work, of one and of all.
constexpr std::size_t costly_of_user_max = 48;
constexpr std::size_t costly_untaken_of_user_max = 16;
constexpr fair_semaphore::rules costly_at_work{.at_once = 32, .at_once_of_user = 4};

class api {
public:
    struct parts {
        shared_context around{};
        std::shared_ptr<authorizer> auth{};
        access metrics_need = access::open;
        bool secure = false;               // over TLS
        std::vector<std::string> hosts{};  // by which requests may reach a listener of the loopback
        // GET and HEAD of what is no route: the web UI and its files.
        std::function<http::response(const http::request&)> page{};
        // What the server counts, for the metrics.
        std::function<http::server_counts()> counted{};
    };
    explicit api(parts made_of);

    // All routes, for the test that holds them against the document.
    const routes& all() const noexcept { return routes_; }

    static boost::asio::awaitable<http::response> answer(
        std::shared_ptr<const api> self, std::shared_ptr<const http::request> asked);

    // What never reached answer(), with the same fields.
    http::response reject(unsigned status, std::string_view detail) const;

private:
    static boost::asio::awaitable<http::response> answer_route(
        std::shared_ptr<const api> self, std::shared_ptr<const http::request> asked,
        http::matched found);
    static boost::asio::awaitable<http::response> answer_costly(std::shared_ptr<const api> self,
                                                                std::size_t route,
                                                                shared_call asked);
    http::response answer_unrouted(const http::request& asked, const http::match& found) const;
    void count(std::string_view route, const http::response& made, instant began) const;
    void secure(http::response& made) const;
    void add(routes some);

    // Constant after construction
    parts parts_;
    routes routes_;
    http::router router_;
    const std::shared_ptr<user_quota> costly_ = std::make_shared<user_quota>(
        user_quota::rules{http::limits{}.connections_max, costly_of_user_max});
    const std::shared_ptr<fair_semaphore> untaken_ = std::make_shared<fair_semaphore>(
        fair_semaphore::rules{http::limits{}.connections_max, costly_untaken_of_user_max});
    const std::shared_ptr<fair_semaphore> at_work_ =
        std::make_shared<fair_semaphore>(costly_at_work);
};

// /healthz, /readyz, /metrics and the document itself.
routes operation_routes(shared_context around, access metrics_need,
                        std::function<http::server_counts()> counted);

}  // namespace pawl::api
