#include "stores/etcd/etcd_store.hpp"

#include "testing/conformance/store_laws.hpp"
#include "testing/servers/etcd_server.hpp"

namespace pawl::conformance {
namespace {

class etcd_engine {
public:
    static std::string_view name() { return "etcd"; }
    static constexpr store_reach reach() { return store_reach::many_processes; }
    std::string address() const { return std::to_string(server_.port()); }
    static std::shared_ptr<lease_store> open_at(net::loop& where, const std::string& address,
                                                store_settings settings) {
        etcd::etcd_settings to;
        to.common = std::move(settings);
        to.endpoints = {{"127.0.0.1", static_cast<std::uint16_t>(std::stoi(address))}};
        return etcd::make_etcd_store(where, std::move(to));
    }
    void restart() { server_.restart(); }
    void lose_data() { server_.lose_data(); }

private:
    testing_servers::etcd_server server_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(etcd, StoreLaws, etcd_engine);

}  // namespace
}  // namespace pawl::conformance
