// Bodies of requests: whatever is read of one is within its bounds, and whatever is wrong with one
// is a problem of one line.
#include "api/request/call.hpp"
#include "api/request/json_body.hpp"

#include <cstdlib>
#include <string>

namespace {

using pawl::api::body_reader;

void ensure(bool holds) {
    if (!holds) std::abort();
}

void check_fault(const pawl::http::response& fault) {
    ensure(fault.status == 400 || fault.status == 415);
    const auto told = boost::json::parse(fault.body).as_object();
    ensure(told.at("status").to_number<unsigned>() == fault.status);
    const auto& detail = told.at("detail").as_string();
    ensure(!detail.empty());
    for (const char one : detail) ensure(static_cast<unsigned char>(one) >= 0x20 && one != 0x7f);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    pawl::http::request request;
    request.body.assign(reinterpret_cast<const char*>(data), size);
    request.fields.push_back({"content-type", "application/json; charset=utf-8"});
    body_reader body{request, {"key", "ttl_ms", "at_least_once", "occurrence", "args"}};
    const bool was_wrong = body.fault().has_value();
    const auto key = body.text("key");
    const auto ttl = body.integer("ttl_ms", 1, 604'800'000);
    const auto once = body.boolean("at_least_once");
    const auto occurrence = body.instant("occurrence");
    const auto all = body.texts("args", 3);
    if (ttl) ensure(*ttl >= 1 && *ttl <= 604'800'000);
    if (occurrence) ensure(pawl::number(*occurrence) >= 0);
    if (all) ensure(all->size() <= 3);
    if (size == 0) ensure(!was_wrong);
    if (!body.fault()) {
        ensure(body.required_text("key") == key.value_or(""));
        ensure(key.has_value() != body.fault().has_value());
        ensure(!once || *once == *body.boolean("at_least_once"));
    }
    if (body.fault()) check_fault(*body.fault());
    return 0;
}
