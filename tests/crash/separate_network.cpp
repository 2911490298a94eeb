#include "tests/crash/separate_network.hpp"

#include "test_support/servers/process.hpp"

#include <unistd.h>

#include <exception>

namespace pawl::crash {
namespace {

using testing_servers::run_command;

}  // namespace

separate_network::separate_network(int number) {
    const int pid = getpid();
    const std::string tag = std::to_string(pid) + "-" + std::to_string(number);
    name_ = "pawl-crash-" + tag;
    // Names of interfaces have at most 15 characters.
    our_end_ = "pw" + tag;
    their_end_ = "pn" + tag;
    // A range of its own for each process, out of 10.128.0.0/9, with two addresses for each number.
    const std::string range =
        "10." + std::to_string(128 + pid / 256 % 128) + '.' + std::to_string(pid % 256) + '.';
    our_address_ = range + std::to_string(4 * number + 1);
    run_command({"ip", "netns", "add", name_});
    try {
        make_link(range + std::to_string(4 * number + 2));
    } catch (const std::exception&) {
        run_command({"ip", "netns", "del", name_});
        throw;
    }
}

void separate_network::make_link(const std::string& their_address) const {
    run_command({"ip", "link", "add", our_end_, "type", "veth", "peer", "name", their_end_});
    run_command({"ip", "link", "set", their_end_, "netns", name_});
    run_command({"ip", "addr", "add", our_address_ + "/30", "dev", our_end_});
    run_command({"ip", "link", "set", our_end_, "up"});
    run_command({"ip", "-n", name_, "addr", "add", their_address + "/30", "dev", their_end_});
    run_command({"ip", "-n", name_, "link", "set", their_end_, "up"});
    run_command({"ip", "-n", name_, "link", "set", "lo", "up"});
}

separate_network::~separate_network() {
    try {
        // Takes its end of the link with it, and so ours.
        run_command({"ip", "netns", "del", name_});
    } catch (const std::exception&) {
        // The test's result does not depend on it.
    }
}

std::vector<std::string> separate_network::prefix() const { return {"ip", "netns", "exec", name_}; }

void separate_network::cut() const { run_command({"ip", "link", "set", our_end_, "down"}); }

void separate_network::mend() const { run_command({"ip", "link", "set", our_end_, "up"}); }

}  // namespace pawl::crash
