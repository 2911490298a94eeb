#include "engines/etcd/store/make_etcd_store.hpp"

#include "test_support/conformance/engines/engine_on.hpp"
#include "test_support/conformance/store_laws.hpp"
#include "test_support/servers/etcd_server.hpp"

namespace pawl::conformance {
namespace {

class etcd_running : public running_on_port<testing_servers::etcd_server> {
public:
    static std::string_view name() { return "etcd"; }
    static etcd::etcd_settings settings_at(const std::string& address, store_settings common) {
        etcd::etcd_settings to;
        to.common = std::move(common);
        to.endpoints = {{"127.0.0.1", static_cast<std::uint16_t>(std::stoi(address))}};
        return to;
    }
};
using etcd_engine = engine_on<etcd_running, etcd::make_etcd_store>;

INSTANTIATE_TYPED_TEST_SUITE_P(etcd, StoreLaws, etcd_engine);

}  // namespace
}  // namespace pawl::conformance
