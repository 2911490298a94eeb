// Holders on one etcd that die or freeze, whose server stops, or whose network is cut.
#include "base/duration.hpp"
#include "test_support/servers/etcd_server.hpp"
#include "tests/crash/server_laws.hpp"

namespace pawl::crash {
namespace {

testing_servers::etcd_options open_to_all() {
    testing_servers::etcd_options options;
    // From a network of its own a node does not reach our loopback address.
    options.open_to_all = true;
    return options;
}

class etcd_engine : public testing_servers::etcd_server {
public:
    etcd_engine() : etcd_server{open_to_all()} {}
    static std::string url(const std::string& host, std::uint16_t port, millis timeout) {
        return "etcd://" + host + ":" + std::to_string(port) +
               "?timeout=" + base::format_duration(timeout);
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(etcd, ServerLaws, etcd_engine);

}  // namespace
}  // namespace pawl::crash
