// Holders on one PostgreSQL that die or freeze, whose server stops, or whose network is cut.
#include "base/duration.hpp"
#include "test_support/servers/postgresql_server.hpp"
#include "tests/crash/server_laws.hpp"

namespace pawl::crash {
namespace {

testing_servers::postgresql_options synced_and_open() {
    testing_servers::postgresql_options options;
    // From a network of its own a node does not reach our loopback address.
    options.who = {"host all all all trust"};
    options.more = {"listen_addresses='*'", "fsync=on", "synchronous_commit=on"};
    return options;
}

class postgresql_engine : public testing_servers::postgresql_server {
public:
    postgresql_engine() : postgresql_server{synced_and_open()} {}
    static std::string url(const std::string& host, std::uint16_t port, millis timeout) {
        return "postgresql://postgres@" + host + ":" + std::to_string(port) +
               "/postgres?timeout=" + base::format_duration(timeout);
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(postgresql, ServerLaws, postgresql_engine);

}  // namespace
}  // namespace pawl::crash
