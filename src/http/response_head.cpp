#include "http/response_head.hpp"

#include "base/ascii.hpp"

#include <algorithm>
#include <utility>

namespace pawl::http {
namespace {

bool is_servers_own(std::string_view name) {
    constexpr std::string_view own[] = {"content-length", "date", "connection",
                                        "transfer-encoding"};
    return std::any_of(std::begin(own), std::end(own),
                       [&](std::string_view one) { return base::equals_ignoring_case(name, one); });
}

bool is_name(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char letter) {
        return base::is_alphanumeric(letter) ||
               std::string_view{"!#$%&'*+-.^_`|~"}.find(letter) != std::string_view::npos;
    });
}

bool is_value(std::string_view text) {
    return std::none_of(text.begin(), text.end(), [](char letter) {
        const auto byte = static_cast<unsigned char>(letter);
        return (byte < 0x20 && byte != '\t') || byte == 0x7f;
    });
}

}  // namespace

bool has_no_body(unsigned status) noexcept {
    return status < 200 || status == 204 || status == 304;
}

std::string_view reason_of(unsigned status) noexcept {
    constexpr std::pair<unsigned, std::string_view> reasons[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {206, "Partial Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {428, "Precondition Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };
    const auto* found = std::find_if(std::begin(reasons), std::end(reasons),
                                     [&](const auto& one) { return one.first == status; });
    // RFC 9112, 4: the reason may be empty.
    return found == std::end(reasons) ? std::string_view{} : found->second;
}

std::optional<std::string> head_of(const response& answered, const head_facts& facts) {
    // Other numbers would change the meaning of the line.
    if (answered.status < 200 || answered.status > 599) return std::nullopt;
    std::string head;
    head.reserve(256);
    head += "HTTP/1.1 ";
    head += std::to_string(answered.status);
    head += ' ';
    head += reason_of(answered.status);
    head += "\r\nDate: ";
    head += facts.date;
    for (const auto& one : answered.fields) {
        if (!is_name(one.name) || !is_value(one.value)) return std::nullopt;
        if (is_servers_own(one.name)) continue;
        head += "\r\n";
        head += one.name;
        head += ": ";
        head += one.value;
    }
    if (facts.body == framing::length) {
        head += "\r\nContent-Length: ";
        head += std::to_string(facts.length);
    }
    if (facts.body == framing::chunked) head += "\r\nTransfer-Encoding: chunked";
    if (facts.connection == persistence::close) head += "\r\nConnection: close";
    if (facts.connection == persistence::keep_said) head += "\r\nConnection: keep-alive";
    head += "\r\n\r\n";
    return head;
}

}  // namespace pawl::http
