// Holders on one Redis that die or freeze, whose server stops, or whose network is cut.
#include "base/duration.hpp"
#include "test_support/servers/redis_server.hpp"
#include "tests/crash/server_laws.hpp"

namespace pawl::crash {
namespace {

using testing_servers::redis_options;
using testing_servers::redis_persistence;

redis_options synced_and_open() {
    redis_options options;
    options.persistence = redis_persistence::append_synced;
    // From a network of its own a node does not reach our loopback address.
    options.more = {"bind 0.0.0.0", "protected-mode no"};
    return options;
}

class redis_engine : public testing_servers::redis_server {
public:
    redis_engine() : redis_server{synced_and_open()} {}
    static std::string url(const std::string& host, std::uint16_t port, millis timeout) {
        return "redis://" + host + ":" + std::to_string(port) +
               "?timeout=" + base::format_duration(timeout);
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(redis, ServerLaws, redis_engine);

}  // namespace
}  // namespace pawl::crash
