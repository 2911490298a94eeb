// Paths and queries: what is decoded is text without controls, and encodes to what decodes to the
// same; a path leads to a route only with all its values.
#include "base/percent.hpp"
#include "http/router.hpp"

#include <cstdlib>

namespace {

using namespace pawl::http;

void require(bool condition) {
    if (!condition) std::abort();
}

void check_text(const std::string& text) {
    for (const char letter : text) {
        const auto byte = static_cast<unsigned char>(letter);
        require(byte >= 0x20 && byte != 0x7f);
    }
    require(percent_decode(pawl::base::percent_encode(text)) == text);
}

const router& routes() {
    static const router made = [] {
        router built;
        built.add("GET", "/");
        built.add("GET", "/a");
        built.add("GET", "/a/{one}");
        built.add("GET", "/a/{one}/b");
        built.add("POST", "/a/{rest*}");
        built.add("PUT", "/l/{key*}/{token}");
        built.add("GET", "/{rest*}");
        return built;
    }();
    return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    if (const auto decoded = percent_decode(text)) check_text(*decoded);
    if (const auto pairs = parse_query(text)) {
        std::string again;
        for (const auto& [name, value] : *pairs) {
            check_text(name);
            check_text(value);
            again +=
                '&' + pawl::base::percent_encode(name) + '=' + pawl::base::percent_encode(value);
        }
        require(parse_query(again) == pairs);
    }
    constexpr std::size_t names[] = {0, 0, 1, 1, 1, 2, 1};
    for (const auto* method : {"GET", "HEAD", "POST", "PUT", "BREW"}) {
        const auto found = routes().find(method, text);
        if (const auto* one = std::get_if<matched>(&found)) {
            require(one->values.size() == names[one->route]);
            for (const auto& [name, value] : one->values) {
                require(!value.empty());
                check_text(value);
            }
        }
        if (const auto* wrong = std::get_if<no_such_method>(&found))
            require(!wrong->allowed.empty());
        if (const auto* broken = std::get_if<bad_path>(&found)) require(!broken->why.empty());
    }
    return 0;
}
