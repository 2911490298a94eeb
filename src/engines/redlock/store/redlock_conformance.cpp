#include "engines/redlock/store/redlock_store.hpp"

#include "test_support/conformance/engines/engine_on.hpp"
#include "test_support/conformance/store_laws.hpp"
#include "test_support/servers/redlock_servers.hpp"

#include <sstream>

namespace pawl::conformance {
namespace {

class redlock_running : public running<testing_servers::redlock_servers> {
public:
    static std::string_view name() { return "redlock"; }
    // The ports of the nodes, each behind a space.
    std::string address() const {
        std::string ports;
        for (const auto port : server_.ports()) ports += " " + std::to_string(port);
        return ports;
    }
    static redlock::redlock_settings settings_at(const std::string& address,
                                                 store_settings common) {
        redlock::redlock_settings to;
        to.common = std::move(common);
        std::istringstream ports{address};
        for (std::uint16_t port = 0; ports >> port;) to.nodes.emplace_back().port = port;
        return to;
    }
};
using redlock_engine = engine_on<redlock_running, redlock::make_redlock_store>;

INSTANTIATE_TYPED_TEST_SUITE_P(redlock, StoreLaws, redlock_engine);

}  // namespace
}  // namespace pawl::conformance
