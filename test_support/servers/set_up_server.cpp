#include "test_support/servers/set_up_server.hpp"

#include "test_support/servers/process.hpp"

#include <stdexcept>

namespace pawl::testing_servers {

std::filesystem::path set_up_server(const std::string& name) {
    // What goes wrong is told on standard error, which the test shows.
    const std::string command = std::string{PAWL_SET_UP_SERVER} + " " + name;
    int status = 0;
    auto folder = output_of(command, status);
    if (status != 0) throw std::runtime_error{"the server of the test cannot be set up: " + name};
    while (folder.ends_with('\n')) folder.pop_back();
    return folder;
}

}  // namespace pawl::testing_servers
