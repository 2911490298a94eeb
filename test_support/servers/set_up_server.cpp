#include "test_support/servers/set_up_server.hpp"

#include <array>
#include <cstdio>
#include <stdexcept>

namespace pawl::testing_servers {

std::filesystem::path set_up_server(const std::string& name) {
    // What goes wrong is told on standard error, which the test shows.
    const std::string command = std::string{PAWL_SET_UP_SERVER} + " " + name;
    auto* said = popen(command.c_str(), "re");
    if (said == nullptr) throw std::runtime_error{"cannot run " + command};
    std::string folder;
    std::array<char, 4096> part{};
    while (std::fgets(part.data(), part.size(), said) != nullptr) folder += part.data();
    if (pclose(said) != 0)
        throw std::runtime_error{"the server of the test cannot be set up: " + name};
    while (folder.ends_with('\n')) folder.pop_back();
    return folder;
}

}  // namespace pawl::testing_servers
