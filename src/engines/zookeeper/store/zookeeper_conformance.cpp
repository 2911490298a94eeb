#include "engines/zookeeper/store/make_zookeeper_store.hpp"

#include "test_support/conformance/engines/engine_on.hpp"
#include "test_support/conformance/store_laws.hpp"
#include "test_support/servers/zookeeper_server.hpp"

namespace pawl::conformance {
namespace {

class zookeeper_running : public running_on_port<testing_servers::zookeeper_server> {
public:
    static std::string_view name() { return "zookeeper"; }
    static zookeeper::zookeeper_settings settings_at(const std::string& address,
                                                     store_settings common) {
        zookeeper::zookeeper_settings to;
        to.common = std::move(common);
        to.servers.front().port = static_cast<std::uint16_t>(std::stoi(address));
        return to;
    }
};
using zookeeper_engine = engine_on<zookeeper_running, zookeeper::make_zookeeper_store>;

INSTANTIATE_TYPED_TEST_SUITE_P(zookeeper, StoreLaws, zookeeper_engine);

}  // namespace
}  // namespace pawl::conformance
