// JSON in and out of the API.
#pragma once

#include "api/request/call.hpp"
#include "http/message.hpp"

#include <pawl/types.hpp>

#include <boost/json.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pawl::api {

constexpr std::size_t page_limit_default = 100;

http::response json_response(unsigned status, const boost::json::value& document);
// A GET: with an ETag over the document, and 304 when the caller has it. `volatile_members` of the
// top level, such as as_of, do not count.
http::response tagged_response(const call& asked, boost::json::object document,
                               std::initializer_list<std::string_view> volatile_members = {});
// The same of a text that is JSON already.
http::response tagged_response(const call& asked, std::string text, const std::string& tag);
// The ETag of that text.
std::string tag_of(std::string_view text);

// A document that never changes: worked out once, and shared by all answers.
struct fixed_document {
    explicit fixed_document(const boost::json::object& document);
    std::shared_ptr<const std::string> text;
    std::string tag;
};
http::response tagged_response(const call& asked, const fixed_document& document);

// The members of a JSON object in a request's body, taken one by one. What is wrong is remembered,
// the first fault only, as one line that names the member; ask fault() when all has been taken.
class body_reader {
public:
    // A body that is empty counts as {}. Every member must be in `known`, or the fault names the
    // nearest.
    body_reader(const http::request& request, std::initializer_list<std::string_view> known);

    std::optional<std::string> text(std::string_view name);
    std::optional<std::int64_t> integer(std::string_view name, std::int64_t least,
                                        std::int64_t most);
    std::optional<bool> boolean(std::string_view name);
    std::optional<std::vector<std::string>> texts(std::string_view name, std::size_t most);
    // RFC 3339, or Unix milliseconds as a number.
    std::optional<occurrence> instant(std::string_view name);
    // A fault where it is missing.
    std::string required_text(std::string_view name);
    std::int64_t required_integer(std::string_view name, std::int64_t least, std::int64_t most);

    // 415 where the body is not application/json, else 400. Nothing: all is well.
    const std::optional<http::response>& fault() const noexcept { return fault_; }

private:
    void read(const http::request& request, const std::vector<std::string_view>& names);
    const boost::json::value* find(std::string_view name) const;
    void reject(unsigned status, std::string_view what);

    boost::json::object members_;
    std::optional<http::response> fault_;
};

// `limit` and `after` of a list. 400 where the limit is none from 1 to page_limit_max.
struct page_request {
    std::string after{};
    std::size_t limit = page_limit_default;
};
std::variant<page_request, http::response> page_of(const call& asked);

}  // namespace pawl::api
