#include "admin/problem.hpp"

#include "documents/documents.hpp"

#include <string>
#include <utility>

namespace pawl::admin {
namespace {

namespace json = boost::json;

// How long to leave a store alone that did not answer.
constexpr std::string_view retry_seconds = "1";

std::string_view title_of(unsigned status) {
    switch (status) {
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 408:
            return "Request Timeout";
        case 409:
            return "Conflict";
        case 410:
            return "Gone";
        case 413:
            return "Content Too Large";
        case 415:
            return "Unsupported Media Type";
        case 429:
            return "Too Many Requests";
        case 431:
            return "Request Header Fields Too Large";
        case 500:
            return "Internal Server Error";
        case 501:
            return "Not Implemented";
        case 502:
            return "Bad Gateway";
        case 503:
            return "Service Unavailable";
        default:
            return "Error";
    }
}

}  // namespace

http::response problem(unsigned status, std::string_view detail) {
    return problem(status, detail, json::object{});
}

http::response problem(unsigned status, std::string_view detail, json::object more) {
    json::object what;
    what["type"] = "about:blank";
    what["title"] = title_of(status);
    what["status"] = status;
    what["detail"] = detail;
    for (auto& member : more) what[member.key()] = std::move(member.value());
    http::response made{status, "application/problem+json", documents::serialize(what)};
    made.set("Cache-Control", "no-store");
    return made;
}

http::response problem_of(const failure& why) {
    switch (why.code) {
        case errc::unreachable:
        case errc::outcome_unknown: {
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
    return problem(400, "after: " + why.detail + "; hand back the next of the page before");
}

}  // namespace pawl::admin
