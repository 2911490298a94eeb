#include "cli/clients/actor.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>

namespace pawl::cli {

std::string actor_name() {
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
    const auto* who = getpwuid(geteuid());
    const auto user = who != nullptr ? std::string{who->pw_name} : std::to_string(geteuid());
    return user + "@" + host.data();
}

}  // namespace pawl::cli
