// Holders on one ZooKeeper that die or freeze, whose server stops, or whose network is cut.
#include "base/duration.hpp"
#include "test_support/servers/zookeeper_server.hpp"
#include "tests/crash/server_laws.hpp"

#include <algorithm>

namespace pawl::crash {
namespace {

testing_servers::zookeeper_options open_to_all() {
    testing_servers::zookeeper_options options;
    // From a network of its own a node does not reach our loopback address.
    options.more = {"clientPortAddress=0.0.0.0"};
    return options;
}

class zookeeper_engine : public testing_servers::zookeeper_server {
public:
    zookeeper_engine() : zookeeper_server{open_to_all()} {}
    static std::string url(const std::string& host, std::uint16_t port, millis timeout) {
        // To begin a session takes a transaction of its own on top of the connection.
        timeout = std::max(timeout, millis{1000});
        return "zookeeper://" + host + ":" + std::to_string(port) +
               "?timeout=" + base::format_duration(timeout);
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(zookeeper, ServerLaws, zookeeper_engine);

}  // namespace
}  // namespace pawl::crash
