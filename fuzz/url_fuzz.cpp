// Store URLs: whatever is accepted has its parts within bounds, and its password never shows.
#include "base/url.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace pawl::base;
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto parsed = parse_store_url(text);
    const auto shown = redact_url(text);
    if (parsed.has_error()) {
        if (parsed.error().column > size || parsed.error().what.empty()) std::abort();
        return 0;
    }
    // libpq knows hosts of its own, and Kubernetes has its address elsewhere.
    const bool may_lack_host = parsed->scheme == "postgresql" || parsed->scheme == "postgres" ||
                               parsed->scheme == "kubernetes";
    for (const auto& where : parsed->endpoints)
        if (where.host.empty() && !may_lack_host) std::abort();
    for (const auto& one : parsed->parameters)
        if (parsed->find(one.name) != &one.value) std::abort();
    // What is shown is a URL of the same shape, whose password is the mask.
    const auto masked = parse_store_url(shown);
    if (!masked.has_value() || masked->scheme != parsed->scheme ||
        masked->endpoints != parsed->endpoints)
        std::abort();
    if (parsed->password && !parsed->endpoints.empty() && masked->password != "***") std::abort();
    return 0;
}
