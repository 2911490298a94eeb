#include "assembly/engines.hpp"
#include "base/percent.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace pawl::assembly {
namespace {

std::filesystem::path state_folder() {
    if (geteuid() == 0) return "/var/lib/pawl";
    // An empty variable counts as unset, by the XDG base directory specification.
    if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state != '\0')
        return std::filesystem::path{state} / "pawl";
    if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
        return std::filesystem::path{home} / ".local/state/pawl";
    throw option_error{
        "no store is given and neither XDG_STATE_HOME nor HOME is set: give --store sqlite:PATH"};
}

// In a URL's path these would be read as something else.
std::string encoded(const std::string& path) {
    return base::percent_encode(path, [](char letter) {
        const auto byte = static_cast<unsigned char>(letter);
        return byte > 0x20 && byte != '%' && byte != '?' && byte != 0x7f;
    });
}

}  // namespace

std::string default_store_url() {
    const auto folder = state_folder();
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed)
        throw store_error{failure{errc::denied, "cannot create " + folder.string() +
                                                    " for the default store: " + failed.message() +
                                                    "; give --store sqlite:PATH"}};
    return "sqlite:" + encoded((folder / "pawl.db").string());
}

}  // namespace pawl::assembly
