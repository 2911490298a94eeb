#include "cli/secrets.hpp"

#include "base/url.hpp"

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {
namespace {

using places = std::vector<base::secret_place>;

void overwrite(char* text, const places& secrets) {
    // NOLINTNEXTLINE(clang-analyzer-security.cert.env.InvalidPtr): see below.
    for (const auto& one : secrets) std::memset(text + one.at, '*', one.size);
}

// Keeps the value for getenv(3) elsewhere; /proc goes on showing the place of the old one.
void hide(const char* name, places (*secrets_of)(std::string_view)) {
    char* shown = std::getenv(name);
    if (shown == nullptr) return;
    const std::string value{shown};
    const auto secrets = secrets_of(value);
    if (secrets.empty()) return;
    setenv(name, value.c_str(), 1);
    // NOLINTNEXTLINE(clang-analyzer-security.cert.env.InvalidPtr): the old place it is
    overwrite(shown, secrets);
}

places all_of(std::string_view value) { return {{0, value.size(), base::secret_kind::parameter}}; }

// Keys and reasons may have an '@' as well, and are to be seen.
bool may_be_url(std::string_view word) {
    return word.find("//") != std::string_view::npos || word.find('?') != std::string_view::npos;
}

}  // namespace

void hide_secrets(int count, char** words) {
    // What follows is the command's own, and travels to it as it is.
    for (int at = 1; at < count && std::string_view{words[at]} != "--"; ++at)
        if (may_be_url(words[at])) overwrite(words[at], base::secrets_in(words[at]));
    hide("PAWL_STORE", base::secrets_in);
    hide("PAWL_JOURNAL", base::secrets_in);
    hide("PAWL_TOKEN", all_of);
}

}  // namespace pawl::cli
