#include "api/request/problem.hpp"

#include "documents/documents.hpp"
#include "http/response_head.hpp"

#include <string>
#include <utility>

namespace pawl::api {
namespace {

namespace json = boost::json;

// How long to leave a store alone that did not answer.
constexpr std::string_view retry_seconds = "1";

}  // namespace

http::response problem(unsigned status, std::string_view detail) {
    return problem(status, detail, json::object{});
}

http::response problem(unsigned status, std::string_view detail, json::object more) {
    json::object what;
    what["type"] = "about:blank";
    what["title"] = http::reason_of(status);
    what["status"] = status;
    what["detail"] = detail;
    for (auto& member : more) what[member.key()] = std::move(member.value());
    http::response made{status, "application/problem+json", documents::serialize(what)};
    made.set("Cache-Control", "no-store");
    return made;
}

http::response unknown_outcome(std::string_view detail, json::object more) {
    auto made = problem(503, detail, std::move(more));
    made.set("Retry-After", retry_seconds);
    return made;
}

http::response problem_of(const failure& why) {
    switch (why.code) {
        case errc::unreachable:
        case errc::outcome_unknown:
        case errc::closed: {
            auto made = problem(503, why.detail);
            made.set("Retry-After", retry_seconds);
            return made;
        }
        case errc::rejected:
            return problem(503, why.detail);
        case errc::unsupported:
            return problem(501, why.detail);
        case errc::denied:
        case errc::protocol:
            break;
    }
    return problem(502, why.detail);
}

http::response problem_of_page(const failure& why, std::string_view after) {
    if (after.empty() || why.code != errc::rejected) return problem_of(why);
    return problem(400, "after: " + why.detail + "; expected `next` of the previous page");
}

http::response too_many(std::string_view detail, std::chrono::seconds retry) {
    auto made = problem(429, detail);
    made.set("Retry-After", std::to_string(retry.count()));
    return made;
}

}  // namespace pawl::api
