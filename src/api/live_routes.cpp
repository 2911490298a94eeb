#include "api/live_routes.hpp"

#include "api/live.hpp"
#include "api/problem.hpp"
#include "api/queries.hpp"
#include "base/text.hpp"

#include <utility>

namespace pawl::api {
namespace {

using boost::asio::awaitable;

// Nothing where a word is no topic; then `unknown` is that word.
std::optional<topic_set> topics_of(std::string_view text, std::string& unknown) {
    topic_set wanted;
    while (!text.empty()) {
        const auto comma = text.find(',');
        const auto word = text.substr(0, comma);
        const auto which = topic_named(word);
        if (!which) {
            unknown = word;
            return std::nullopt;
        }
        wanted.insert(*which);
        text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    }
    return wanted;
}

awaitable<http::response> follow(std::shared_ptr<live> events, shared_call asked) {
    topic_set wanted = every_topic();
    if (auto bad = query_fault(*asked, {"topics"})) co_return std::move(*bad);
    if (const auto told = asked->query.find("topics"); told != asked->query.end()) {
        std::string unknown;
        const auto named = topics_of(told->second, unknown);
        if (!named)
            co_return problem(400, "topics has '" + base::printable(unknown) +
                                       "'; write some of locks, runs, jobs, nodes, audit, "
                                       "overview, with commas between them");
        wanted = *named;
    }
    if (wanted.empty()) co_return problem(400, "topics is empty; leave it out for all of them");
    if (events->viewers() >= viewers_max) {
        auto made = problem(
            503, "there are " + std::to_string(viewers_max) + " viewers already; try again later");
        made.set("Retry-After", "5");
        co_return made;
    }
    http::response made{200};
    made.set("Content-Type", "text/event-stream");
    made.set("Cache-Control", "no-store");
    made.stream = [events, wanted](std::shared_ptr<http::body_stream> where) {
        return live::follow(events, wanted, std::move(where));
    };
    co_return made;
}

}  // namespace

routes live_routes(shared_context around) {
    const auto events = std::make_shared<live>(std::move(around));
    routes all;
    all.push_back({"GET", "/api/v1/events", access::viewer,
                   [events](shared_call asked) { return follow(events, std::move(asked)); }});
    return all;
}

}  // namespace pawl::api
