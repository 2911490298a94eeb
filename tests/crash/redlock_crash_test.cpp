// Holders on three independent Redis that die or freeze, whose servers stop, or whose network is
// cut.
#include "base/duration.hpp"
#include "test_support/servers/redlock_servers.hpp"
#include "tests/crash/server_laws.hpp"

namespace pawl::crash {
namespace {

testing_servers::redis_options open_to_all() {
    auto options = testing_servers::redlock_servers::synced();
    // From a network of its own a node does not reach our loopback address.
    options.more = {"bind 0.0.0.0", "protected-mode no"};
    return options;
}

class redlock_engine : public testing_servers::redlock_servers {
public:
    static constexpr addresses where = addresses::given;
    redlock_engine() : redlock_servers{3, open_to_all()} {}
    static std::string url(const std::string& host, const std::vector<std::uint16_t>& ports,
                           millis timeout) {
        // Every write is synced, so there is nothing to wait for.
        return "redlock://" + hosts_at(host, ports) +
               "?quarantine=off&timeout=" + base::format_duration(timeout);
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(redlock, ServerLaws, redlock_engine);

}  // namespace
}  // namespace pawl::crash
