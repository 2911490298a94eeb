#include "api/static_routes.hpp"

#include "api/request/problem.hpp"
#include "base/ascii.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace pawl::api {
namespace {

constexpr std::string_view index_path = "/index.html";
constexpr std::string_view absent_page =
    "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>pawl</title></head>"
    "<body><h1>This pawl was built without its web UI</h1>"
    "<p>It was configured with PAWL_UI=OFF, or without node and npm. The API is there: see "
    "<a href=\"/api/v1/openapi.json\">/api/v1/openapi.json</a>. So are the commands "
    "<code>pawl locks ls</code>, <code>pawl jobs ls</code>, <code>pawl runs ls</code> and "
    "<code>pawl doctor</code>.</p></body></html>\n";

// The members of a field that lists some: `gzip;q=0.8, br`.
template <typename Seen>
bool any_member(std::string_view list, Seen&& seen) {
    while (!list.empty()) {
        const auto comma = list.find(',');
        if (seen(base::trimmed(list.substr(0, comma)))) return true;
        list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    }
    return false;
}

// `q=0`, `q=0.0`: not that one.
bool rejected(std::string_view parameters) {
    const auto weight = parameters.find("q=");
    if (weight == std::string_view::npos) return false;
    const auto value = base::trimmed(parameters.substr(weight + 2));
    return !value.empty() && value.find_first_not_of("0.") == std::string_view::npos;
}

bool takes(std::string_view list, std::string_view wanted) {
    return any_member(list, [&](std::string_view one) {
        const auto mark = one.find(';');
        const auto name = base::trimmed(one.substr(0, mark));
        return base::equals_ignoring_case(name, wanted) &&
               (mark == std::string_view::npos || !rejected(one.substr(mark + 1)));
    });
}

bool names(std::string_view if_none_match, std::string_view tag) {
    return any_member(if_none_match, [&](std::string_view one) {
        if (one.substr(0, 2) == "W/") one.remove_prefix(2);
        return one == "*" || one == tag;
    });
}

const ui::asset* find(std::span<const ui::asset> from, std::string_view path) {
    const auto found =
        std::lower_bound(from.begin(), from.end(), path,
                         [](const ui::asset& one, std::string_view key) { return one.path < key; });
    return found != from.end() && found->path == path ? &*found : nullptr;
}

// Answers of one file share one copy of it.
std::shared_ptr<const std::string> shared_bytes(std::span<const std::byte> bytes) {
    static std::mutex guard;
    static std::map<const std::byte*, std::shared_ptr<const std::string>> copies;
    const std::lock_guard lock{guard};
    auto& copy = copies[bytes.data()];
    if (!copy)
        copy = std::make_shared<const std::string>(reinterpret_cast<const char*>(bytes.data()),
                                                   bytes.size());
    return copy;
}

http::response answer_with(const http::request& asked, const ui::asset& which) {
    const bool gzip = !which.gzip.empty() && takes(asked.find("accept-encoding"), "gzip");
    // Another tag for another encoding: they are not the same bytes.
    const auto tag = '"' + std::string{which.etag} + (gzip ? "-gzip\"" : "\"");
    const bool known = names(asked.find("if-none-match"), tag);
    http::response made{known ? 304U : 200U};
    made.set("ETag", tag);
    made.set("Vary", "Accept-Encoding");
    made.set("Cache-Control", which.immutable ? "public, max-age=31536000, immutable" : "no-cache");
    if (known) return made;
    made.set("Content-Type", which.type);
    if (gzip) made.set("Content-Encoding", "gzip");
    made.shared_body = shared_bytes(gzip ? which.gzip : which.plain);
    return made;
}

}  // namespace

http::response serve_from(std::span<const ui::asset> table, const http::request& asked) {
    if (const auto* file = find(table, asked.path)) return answer_with(asked, *file);
    const auto shown = base::printable(asked.path);
    if (!takes(asked.find("accept"), "text/html") && asked.path != "/")
        return problem(404, "there is no " + shown +
                                ": the web UI is at /, and /api/v1/openapi.json lists the rest");
    if (const auto* index = find(table, index_path)) return answer_with(asked, *index);
    http::response made{asked.path == "/" ? 200U : 404U, "text/html; charset=utf-8",
                        std::string{absent_page}};
    made.set("Cache-Control", "no-cache");
    return made;
}

http::response serve_asset(const http::request& asked) { return serve_from(ui::assets(), asked); }

}  // namespace pawl::api
