// Durations: whatever is accepted prints as something that reads back as the same.
#include "base/duration.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto parsed = pawl::base::parse_duration(text);
    if (parsed.has_error()) {
        if (parsed.error().column > size || parsed.error().what.empty()) std::abort();
        return 0;
    }
    const auto again = pawl::base::parse_duration(pawl::base::format_duration(*parsed));
    if (!again.has_value() || *again != *parsed || parsed->count() < 0) std::abort();
    return 0;
}
