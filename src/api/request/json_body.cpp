#include "api/request/json_body.hpp"

#include "api/request/problem.hpp"
#include "api/request/query_parameters.hpp"
#include "base/ascii.hpp"
#include "base/comma_list.hpp"
#include "base/digest.hpp"
#include "base/text.hpp"
#include "documents/documents.hpp"
#include "time/rfc3339.hpp"

#include <algorithm>
#include <utility>

namespace pawl::api {
namespace {

namespace json = boost::json;

constexpr std::string_view json_type = "application/json";
// What nests deeper is no valid request.
constexpr std::size_t depth_max = 8;
// 9999-12-31T23:59:59.999Z in Unix milliseconds: stores count in microseconds, and dates are
// written with four digits.
constexpr std::int64_t instant_max = 253'402'300'799'999;

std::string quoted(std::string_view name) { return "'" + base::printable(name) + "'"; }

// Without its parameters, in lower case.
std::string media_type(std::string_view field) {
    auto type = std::string{field.substr(0, field.find(';'))};
    while (!type.empty() && type.back() == ' ') type.pop_back();
    return base::lower(type);
}

// RFC 9110, 13.1.2: a list, weak tags included; "*" is any.
bool names_tag(std::string_view field, std::string_view tag) {
    if (field == "*") return true;
    return field.find(tag) != std::string_view::npos;
}

}  // namespace

http::response json_response(unsigned status, const json::value& document) {
    http::response made{status, json_type, documents::serialize(document)};
    made.set("Cache-Control", "no-store");
    return made;
}

std::string tag_of(std::string_view text) {
    return '"' + base::sha256_hex(text).substr(0, 32) + '"';
}

http::response tagged_response(const call& asked, json::object document,
                               std::initializer_list<std::string_view> volatile_members) {
    json::object left;
    for (const auto name : volatile_members)
        if (const auto* found = document.if_contains(name)) {
            left[name] = *found;
            document.erase(name);
        }
    // Written once: behind the text that has the tag stand the members that do not count.
    auto text = documents::serialize(document);
    const auto tag = tag_of(text);
    if (document.empty()) {
        text = documents::serialize(left);
    } else if (!left.empty()) {
        text.back() = ',';
        text += documents::serialize(left).substr(1);
    }
    return tagged_response(asked, std::move(text), tag);
}

http::response tagged_response(const call& asked, std::string text, const std::string& tag) {
    http::response made{304};
    if (!names_tag(asked.request->find("if-none-match"), tag))
        made = http::response{200, json_type, std::move(text)};
    made.set("ETag", tag);
    // Kept by the caller, and asked about again each time.
    made.set("Cache-Control", "private, no-cache");
    return made;
}

fixed_document::fixed_document(const json::object& document)
    : text{std::make_shared<const std::string>(documents::serialize(document))},
      tag{tag_of(*text)} {}

http::response tagged_response(const call& asked, const fixed_document& document) {
    http::response made{304};
    if (!names_tag(asked.request->find("if-none-match"), document.tag)) {
        made = http::response{200};
        made.set("Content-Type", json_type);
        made.shared_body = document.text;
    }
    made.set("ETag", document.tag);
    made.set("Cache-Control", "private, no-cache");
    return made;
}

body_reader::body_reader(const http::request& request,
                         std::initializer_list<std::string_view> known) {
    if (!request.body.empty()) read(request, {known.begin(), known.end()});
}

void body_reader::read(const http::request& request, const std::vector<std::string_view>& names) {
    const auto type = media_type(request.find("content-type"));
    if (type != json_type)
        return reject(415, "the body is " + (type.empty() ? "of no type" : quoted(type)) +
                               "; send Content-Type: application/json");
    json::parse_options how;
    how.max_depth = depth_max;
    boost::system::error_code broken;
    json::parser reader{{}, how};
    const auto taken = reader.write_some(request.body, broken);
    if (!broken && taken < request.body.size()) broken = json::error::extra_data;
    if (broken)
        return reject(400, "the body is not JSON: " + broken.message() + " at byte " +
                               std::to_string(taken + 1));
    auto parsed = reader.release();
    if (!parsed.is_object()) return reject(400, "the body is not a JSON object: write {…}");
    members_ = std::move(parsed.as_object());
    for (const auto& member : members_) {
        const std::string_view name = member.key();
        if (std::find(names.begin(), names.end(), name) != names.end()) continue;
        const auto meant = base::nearest(name, names);
        const auto all = base::comma_list(names);
        if (names.empty())
            return reject(400, "unknown member " + quoted(name) + ": this takes none");
        return reject(400, "unknown member " + quoted(name) +
                               (meant ? "; did you mean " + quoted(*meant) + "?"
                                      : "; expected one of " + all));
    }
}

void body_reader::reject(unsigned status, std::string_view what) {
    if (!fault_) fault_ = problem(status, what);
}

// A member that is null counts as left out.
const json::value* body_reader::find(std::string_view name) const {
    const auto* found = members_.if_contains(name);
    return found == nullptr || found->is_null() ? nullptr : found;
}

std::optional<std::string> body_reader::text(std::string_view name) {
    const auto* found = find(name);
    if (found == nullptr) return std::nullopt;
    if (found->is_string()) return std::string{found->as_string()};
    reject(400, std::string{name} + " is not a string");
    return std::nullopt;
}

std::optional<std::int64_t> body_reader::integer(std::string_view name, std::int64_t least,
                                                 std::int64_t most) {
    const auto* found = find(name);
    if (found == nullptr) return std::nullopt;
    boost::system::error_code none;
    const auto value = found->is_number() ? found->to_number<std::int64_t>(none) : 0;
    if (found->is_number() && !none && value >= least && value <= most) return value;
    reject(400, std::string{name} + " is not an integer from " + std::to_string(least) + " to " +
                    std::to_string(most));
    return std::nullopt;
}

std::optional<bool> body_reader::boolean(std::string_view name) {
    const auto* found = find(name);
    if (found == nullptr) return std::nullopt;
    if (found->is_bool()) return found->as_bool();
    reject(400, std::string{name} + " is neither true nor false");
    return std::nullopt;
}

std::optional<std::vector<std::string>> body_reader::texts(std::string_view name,
                                                           std::size_t most) {
    const auto* found = find(name);
    if (found == nullptr) return std::nullopt;
    const auto fault =
        std::string{name} + " is not an array of strings, at most " + std::to_string(most);
    if (!found->is_array() || found->as_array().size() > most) {
        reject(400, fault);
        return std::nullopt;
    }
    std::vector<std::string> all;
    for (const auto& one : found->as_array()) {
        if (!one.is_string()) {
            reject(400, fault);
            return std::nullopt;
        }
        all.emplace_back(one.as_string());
    }
    return all;
}

std::optional<occurrence> body_reader::instant(std::string_view name) {
    const auto* found = find(name);
    if (found == nullptr) return std::nullopt;
    if (found->is_string()) {
        const auto when = time::parse_rfc3339(std::string_view{found->as_string()});
        if (when.has_value())
            return occurrence{std::chrono::floor<millis>(*when).time_since_epoch().count()};
    } else if (found->is_int64() && found->as_int64() >= 0 && found->as_int64() <= instant_max) {
        return occurrence{found->as_int64()};
    }
    reject(400, std::string{name} +
                    " is not a time; expected RFC 3339, such as \"2026-11-20T06:00:00Z\", or Unix "
                    "milliseconds");
    return std::nullopt;
}

std::string body_reader::required_text(std::string_view name) {
    auto found = text(name);
    if (!found) reject(400, std::string{name} + " is missing");
    return std::move(found).value_or("");
}

std::int64_t body_reader::required_integer(std::string_view name, std::int64_t least,
                                           std::int64_t most) {
    const auto found = integer(name, least, most);
    if (!found) reject(400, std::string{name} + " is missing");
    return found.value_or(least);
}

std::variant<page_request, http::response> page_of(const call& asked) {
    page_request request;
    if (const auto after = asked.query.find("after"); after != asked.query.end())
        request.after = after->second;
    const auto limit = integer_of(asked, "limit", 1, page_limit_max, page_limit_default);
    if (const auto* rejected = std::get_if<http::response>(&limit)) return *rejected;
    request.limit = static_cast<std::size_t>(std::get<std::int64_t>(limit));
    return request;
}

}  // namespace pawl::api
