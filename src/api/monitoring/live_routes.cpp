#include "api/monitoring/live_routes.hpp"

#include "api/limits/user_quota.hpp"
#include "api/monitoring/live.hpp"
#include "api/request/problem.hpp"
#include "api/request/query_parameters.hpp"
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

constexpr std::chrono::seconds full_retry{5};

struct event_streams {
    std::shared_ptr<live> events;
    std::shared_ptr<user_quota> viewers =
        std::make_shared<user_quota>(user_quota::rules{viewers_max, viewers_of_user_max});
};

http::response full(user_quota::full why, const std::string& user) {
    if (why == user_quota::full::of_user)
        return too_many("user '" + base::printable(user) + "' has " +
                            std::to_string(viewers_of_user_max) +
                            " event streams already; close one of them",
                        full_retry);
    auto made = problem(
        503, "there are " + std::to_string(viewers_max) + " viewers already; try again later");
    made.set("Retry-After", std::to_string(full_retry.count()));
    return made;
}

awaitable<http::response> follow(event_streams streams, shared_call asked) {
    topic_set wanted = every_topic();
    if (auto bad = query_fault(*asked, {"topics"})) co_return std::move(*bad);
    if (const auto told = asked->query.find("topics"); told != asked->query.end()) {
        std::string unknown;
        const auto named = topics_of(told->second, unknown);
        if (!named)
            co_return problem(400, "topics has '" + base::printable(unknown) +
                                       "'; expected some of locks, runs, jobs, nodes, audit, "
                                       "overview, with commas between them");
        wanted = *named;
    }
    if (wanted.empty()) co_return problem(400, "topics is empty; leave it out for all of them");
    auto taken = user_quota::take(streams.viewers, asked->who.name);
    if (const auto* why = std::get_if<user_quota::full>(&taken))
        co_return full(*why, asked->who.name);
    http::response made{200};
    made.set("Content-Type", "text/event-stream");
    made.set("Cache-Control", "no-store");
    made.stream = [events = streams.events, wanted, place = std::get<user_quota::permit>(taken)](
                      std::shared_ptr<http::body_stream> where) {
        return live::follow(events, wanted, std::move(where));
    };
    co_return made;
}

}  // namespace

routes live_routes(shared_context around) {
    const event_streams streams{std::make_shared<live>(std::move(around))};
    routes all;
    all.push_back({"GET", "/api/v1/events", access::viewer,
                   [streams](shared_call asked) { return follow(streams, std::move(asked)); }});
    return all;
}

}  // namespace pawl::api
