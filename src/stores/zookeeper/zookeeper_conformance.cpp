#include "stores/zookeeper/zookeeper_store.hpp"

#include "testing/conformance/store_laws.hpp"
#include "testing/servers/zookeeper_server.hpp"

namespace pawl::conformance {
namespace {

class zookeeper_engine {
public:
    static std::string_view name() { return "zookeeper"; }
    static constexpr store_reach reach() { return store_reach::many_processes; }
    std::string address() const { return std::to_string(server_.port()); }
    static std::shared_ptr<lease_store> open_at(net::loop& where, const std::string& address,
                                                store_settings settings) {
        zookeeper::zookeeper_settings to;
        to.common = std::move(settings);
        to.servers.front().port = static_cast<std::uint16_t>(std::stoi(address));
        return zookeeper::make_zookeeper_store(where, std::move(to));
    }
    void restart() { server_.restart(); }
    void lose_data() { server_.lose_data(); }

private:
    testing_servers::zookeeper_server server_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(zookeeper, StoreLaws, zookeeper_engine);

}  // namespace
}  // namespace pawl::conformance
