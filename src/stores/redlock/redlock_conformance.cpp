#include "stores/redlock/redlock_store.hpp"

#include "testing/conformance/store_laws.hpp"
#include "testing/servers/redlock_servers.hpp"

#include <sstream>

namespace pawl::conformance {
namespace {

class redlock_engine {
public:
    static std::string_view name() { return "redlock"; }
    static constexpr store_reach reach() { return store_reach::many_processes; }
    // The ports of the nodes, each behind a space.
    std::string address() const {
        std::string ports;
        for (const auto port : servers_.ports()) ports += " " + std::to_string(port);
        return ports;
    }
    static std::shared_ptr<lease_store> open_at(net::loop& where, const std::string& address,
                                                store_settings settings) {
        redlock::redlock_settings to;
        to.common = std::move(settings);
        std::istringstream ports{address};
        for (std::uint16_t port = 0; ports >> port;) to.nodes.emplace_back().port = port;
        return redlock::make_redlock_store(where, std::move(to));
    }
    void restart() { servers_.restart(); }
    void lose_data() { servers_.lose_data(); }

private:
    testing_servers::redlock_servers servers_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(redlock, StoreLaws, redlock_engine);

}  // namespace
}  // namespace pawl::conformance
