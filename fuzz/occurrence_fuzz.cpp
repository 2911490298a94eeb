// RFC 3339: whatever is accepted prints as the same millisecond.
#include "time/rfc3339.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace pawl::time;
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto parsed = parse_rfc3339(text);
    if (parsed.has_error()) {
        if (parsed.error().column > size || parsed.error().what.empty()) std::abort();
        return 0;
    }
    // An offset may push a time at the edge of the range out of what can be written.
    if (*parsed < wall_instant{} || *parsed >= wall_instant{std::chrono::seconds{253402300800}})
        return 0;
    const auto again = parse_rfc3339(format_rfc3339(*parsed));
    if (!again.has_value() || *again != std::chrono::floor<std::chrono::milliseconds>(*parsed))
        std::abort();
    return 0;
}
