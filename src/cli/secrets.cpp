#include "cli/secrets.hpp"

#include "base/url.hpp"

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace pawl::cli {
namespace {

void overwrite(char* text) {
    // NOLINTNEXTLINE(clang-analyzer-security.cert.env.InvalidPtr): see below.
    for (const auto& one : base::secrets_in(text)) std::memset(text + one.at, '*', one.size);
}

}  // namespace

void hide_secrets(int count, char** words) {
    // What follows is the command's own, and travels to it as it is.
    for (int at = 1; at < count && std::string_view{words[at]} != "--"; ++at) overwrite(words[at]);
    for (const char* name : {"PAWL_STORE", "PAWL_JOURNAL"}) {
        char* shown = std::getenv(name);
        if (shown == nullptr || base::secrets_in(shown).empty()) continue;
        const std::string value{shown};
        // The new one lies elsewhere; /proc goes on showing the place of the old one.
        setenv(name, value.c_str(), 1);
        // NOLINTNEXTLINE(clang-analyzer-security.cert.env.InvalidPtr): the old place it is
        overwrite(shown);
    }
}

}  // namespace pawl::cli
