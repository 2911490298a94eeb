#include "api/request/list_writer.hpp"

#include "api/request/json_body.hpp"
#include "base/digest.hpp"
#include "documents/documents.hpp"

#include <chrono>
#include <utility>

namespace pawl::api {
namespace {

namespace json = boost::json;

// Worked out within a slice.
constexpr std::size_t digested_bytes = std::size_t{64} * 1024;

std::string quoted(std::string_view text) { return documents::serialize(json::string{text}); }

}  // namespace

list_writer::list_writer(net::loop& where, std::string_view name, std::string as_of)
    : slices_{where}, as_of_{std::move(as_of)} {
    text_ = "{" + quoted(name) + ":[";
}

void list_writer::add(const json::object& one) {
    if (count_++ > 0) text_ += ',';
    text_ += documents::serialize(one);
    if (text_.size() - digested_ >= digested_bytes) digest();
}

void list_writer::digest() {
    digests_ += base::sha256_hex(std::string_view{text_}.substr(digested_));
    digested_ = text_.size();
}

http::response list_writer::finish(const call& asked, std::string_view next) {
    text_ += "],\"next\":" + quoted(next);
    digest();
    const auto tag = tag_of(digests_);
    text_ += ",\"as_of\":" + quoted(as_of_) + "}";
    return tagged_response(asked, std::move(text_), tag);
}

}  // namespace pawl::api
