#include "api/api.hpp"

#include "api/auth/request_credentials.hpp"
#include "api/auth/verifier.hpp"
#include "api/jobs/job_routes.hpp"
#include "api/jobs/run_routes.hpp"
#include "api/locks/lease_routes.hpp"
#include "api/locks/lock_routes.hpp"
#include "api/monitoring/audit_routes.hpp"
#include "api/monitoring/doctor_routes.hpp"
#include "api/monitoring/live_routes.hpp"
#include "api/monitoring/node_routes.hpp"
#include "api/monitoring/overview_routes.hpp"
#include "api/request/problem.hpp"
#include "base/comma_list.hpp"
#include "base/text.hpp"

#include <pawl/clock.hpp>

#include <array>
#include <iterator>
#include <utility>

namespace pawl::api {
namespace {

using boost::asio::awaitable;

// The web UI sends requests to its own server alone, and is shown in no frame.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> security_fields{{
    {"Content-Security-Policy",
     "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
     "object-src 'none'; require-trusted-types-for 'script'; trusted-types angular"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"},
}};

constexpr std::chrono::seconds costly_retry{1};

// What is counted of requests that no route takes: the web UI, its files, and what there is not.
constexpr std::string_view unrouted = "(none)";

// A stream that ends with the session, or the user, that it was opened by.
class admitted_stream final : public http::body_stream {
public:
    admitted_stream(std::shared_ptr<http::body_stream> inner, std::shared_ptr<authorizer> auth,
                    std::shared_ptr<const http::request> asked, access needs)
        : inner_{std::move(inner)},
          auth_{std::move(auth)},
          asked_{std::move(asked)},
          needs_{needs} {}

    awaitable<bool> write(std::shared_ptr<const std::string> bytes) override {
        if (!auth_->still_admits(*asked_, needs_)) co_return false;
        auto writing = inner_->write(std::move(bytes));
        co_return co_await std::move(writing);
    }
    std::stop_token gone() const override { return inner_->gone(); }

private:
    std::shared_ptr<http::body_stream> inner_;
    std::shared_ptr<authorizer> auth_;
    std::shared_ptr<const http::request> asked_;
    access needs_;
};

}  // namespace

api::api(parts made_of) : parts_{std::move(made_of)} {
    const auto& around = parts_.around;
    add(operation_routes(around, parts_.metrics_need, parts_.counted));
    add(parts_.auth->session_routes());
    add(lock_routes(around));
    add(lease_routes(around));
    add(job_routes(around));
    add(run_routes(around));
    add(node_routes(around));
    add(audit_routes(around));
    add(overview_routes(around));
    add(doctor_routes(around));
    add(live_routes(around));
}

void api::add(routes some) {
    for (const auto& one : some) router_.add(one.method, one.pattern);
    std::move(some.begin(), some.end(), std::back_inserter(routes_));
}

void api::secure(http::response& made) const {
    for (const auto& [name, value] : security_fields) made.set(name, value);
    if (parts_.secure) made.set("Strict-Transport-Security", "max-age=31536000");
}

http::response api::reject(unsigned status, std::string_view detail) const {
    auto made = problem(status, detail);
    // There is room again as soon as others have their answers.
    if (status == 503) made.set("Retry-After", "1");
    secure(made);
    return made;
}

awaitable<http::response> api::answer(std::shared_ptr<const api> self,
                                      std::shared_ptr<const http::request> asked) {
    const auto began = self->parts_.around->core->loop().now();
    if (is_for_other_host(*asked, self->parts_.hosts)) {
        auto made = self->reject(421, "this agent is not '" + base::printable(asked->find("host")) +
                                          "'; name that host in hosts of [agent], or use "
                                          "127.0.0.1");
        self->count(unrouted, made, began);
        co_return made;
    }
    auto found = self->router_.find(asked->method, asked->path);
    if (auto* route = std::get_if<http::matched>(&found)) {
        const std::string_view pattern = self->routes_[route->route].pattern;
        auto answering = answer_route(self, asked, std::move(*route));
        auto made = co_await std::move(answering);
        self->secure(made);
        self->count(pattern, made, began);
        co_return made;
    }
    auto made = self->answer_unrouted(*asked, found);
    self->count(unrouted, made, began);
    co_return made;
}

void api::count(std::string_view route, const http::response& made, instant began) const {
    parts_.around->instruments->answered(route, made.status,
                                         parts_.around->core->loop().now() - began);
}

// A page, or what is wrong with the request.
http::response api::answer_unrouted(const http::request& asked, const http::match& found) const {
    if (const auto* bad = std::get_if<http::bad_path>(&found)) return reject(400, bad->why);
    const auto shown = base::printable(asked.path);
    if (const auto* other = std::get_if<http::no_such_method>(&found)) {
        const auto allowed = base::comma_list(other->allowed);
        auto made = reject(
            405, shown + " takes no " + base::printable(asked.method) + "; it takes " + allowed);
        made.set("Allow", allowed);
        return made;
    }
    const bool is_page =
        asked.path.rfind("/api/", 0) != 0 && (asked.method == "GET" || asked.method == "HEAD");
    if (is_page && parts_.page) {
        auto made = parts_.page(asked);
        secure(made);
        return made;
    }
    return reject(404, "there is no " + shown + "; see /api/v1/openapi.json");
}

awaitable<http::response> api::answer_route(std::shared_ptr<const api> self,
                                            std::shared_ptr<const http::request> asked,
                                            http::matched found) {
    const auto& which = self->routes_[found.route];
    auto query = http::parse_query(asked->query);
    if (!query)
        co_return problem(
            400,
            "the query is not percent-encoded UTF-8 without control characters; write "
            "%25 for '%': " +
                base::printable(asked->query));
    auto admitting = self->parts_.auth->admit(asked, which.needs);
    auto admitted = co_await std::move(admitting);
    if (auto* rejected = std::get_if<http::response>(&admitted)) co_return std::move(*rejected);
    auto what = std::make_shared<call>();
    what->request = asked;
    what->path = std::move(found.values);
    what->query = std::move(*query);
    what->who = std::move(std::get<caller>(admitted));
    what->is_still_admitted = [auth = self->parts_.auth, asked, needs = which.needs] {
        return auth->still_admits(*asked, needs);
    };
    auto answering = which.costs == cost::much ? answer_costly(self, found.route, std::move(what))
                                               : which.answer(std::move(what));
    auto made = co_await std::move(answering);
    if (made.stream && which.needs != access::open)
        made.stream = [auth = self->parts_.auth, asked, needs = which.needs,
                       inner = std::move(made.stream)](std::shared_ptr<http::body_stream> where) {
            return inner(std::make_shared<admitted_stream>(std::move(where), auth, asked, needs));
        };
    co_return made;
}

// What a flood of these delays is the flood: a request for something else waits for a slice of
// those that are in work, and another user's list for a few of them.
awaitable<http::response> api::answer_costly(std::shared_ptr<const api> self, std::size_t route,
                                             shared_call asked) {
    const auto user = asked->who.name.empty() ? "address " + address_group(asked->request->peer)
                                              : "user '" + asked->who.name + "'";
    auto taken = user_quota::take(self->costly_, user);
    if (std::holds_alternative<user_quota::full>(taken))
        co_return too_many(base::printable(user) + " has " + std::to_string(costly_of_user_max) +
                               " lists or documents under way already; take their answers first",
                           costly_retry);
    auto beginning = fair_semaphore::enter(self->untaken_, user);
    auto untaken = co_await std::move(beginning);
    auto waiting = fair_semaphore::enter(self->at_work_, user);
    const auto turn = co_await std::move(waiting);
    if (asked->request->gone.stop_requested())
        co_return self->reject(503, "the other side has gone before its turn came");
    auto answering = self->routes_[route].answer(std::move(asked));
    auto made = co_await std::move(answering);
    // A stream is counted where it is written.
    if (made.stream) co_return made;
    using held = std::pair<user_quota::permit, fair_semaphore::turn>;
    made.place = std::make_shared<const held>(std::get<user_quota::permit>(std::move(taken)),
                                              std::move(untaken));
    co_return made;
}

}  // namespace pawl::api
