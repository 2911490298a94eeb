// Holders on one MariaDB that die or freeze, whose server stops, or whose network is cut.
#include "base/duration.hpp"
#include "test_support/servers/mysql_server.hpp"
#include "tests/crash/server_laws.hpp"

namespace pawl::crash {
namespace {

testing_servers::mysql_server_options open_to_all() {
    testing_servers::mysql_server_options options;
    // From a network of its own a node does not reach our loopback address.
    options.more = {"bind-address=0.0.0.0"};
    return options;
}

class mysql_engine : public testing_servers::mysql_server {
public:
    mysql_engine() : mysql_server{open_to_all()} {}
    static std::string url(const std::string& host, std::uint16_t port, millis timeout) {
        return std::string{"mysql://"} + user + ":" + password + "@" + host + ":" +
               std::to_string(port) + "/" + database +
               "?tls=off&timeout=" + base::format_duration(timeout);
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(mysql, ServerLaws, mysql_engine);

}  // namespace
}  // namespace pawl::crash
