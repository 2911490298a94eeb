// Replies of Redis: any bytes, in any pieces, end in replies within bounds or in one failure that
// lasts; and what the store makes of their text never leaves its bounds either.
#include "engines/redis/client/error_mapping.hpp"
#include "engines/redis/client/resp.hpp"
#include "engines/redis/store/lease_text.hpp"

#include <algorithm>
#include <cstdlib>

namespace {

using namespace pawl::redis;

constexpr reply_bounds bounds{.bytes_max = 4096, .elements_max = 64};

std::size_t check(const reply& got) {
    std::size_t elements = got.elements.size();
    if (!got.is_array() && elements != 0) std::abort();
    for (const auto& one : got.elements) elements += check(one);
    if (got.is_error()) {
        const auto why = explain_rejection("here", got.text);
        if (why.detail.empty() || why.detail.find('\n') != std::string::npos) std::abort();
    }
    const auto read = parse_record("key", got.text, 1'700'000'000'000'000);
    const auto* record = read.has_value() && *read ? &**read : nullptr;
    if (record != nullptr &&
        (record->remaining.count() < 0 || pawl::number(record->last_token) == 0))
        std::abort();
    const auto id = encode_id(got.text);
    if (id.empty() || id == "-" || id.find_first_of(" ,\n") != std::string::npos) std::abort();
    return elements;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    if (size == 0) return 0;
    // The first byte says how large the pieces are in which the rest arrives.
    const std::size_t piece = 1 + data[0];
    std::string_view rest{reinterpret_cast<const char*>(data) + 1, size - 1};
    reply_parser parser{bounds};
    bool failed = false;
    while (!rest.empty()) {
        const auto take = std::min(piece, rest.size());
        parser.feed(rest.substr(0, take));
        rest.remove_prefix(take);
        for (;;) {
            const auto got = parser.next();
            if (failed && !got.has_error()) std::abort();
            failed = got.has_error();
            if (failed || !got->has_value()) break;
            if (check(**got) > bounds.elements_max) std::abort();
        }
    }
    return 0;
}
