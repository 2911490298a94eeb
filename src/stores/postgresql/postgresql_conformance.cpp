#include "stores/postgresql/postgresql_store.hpp"

#include "testing/conformance/store_laws.hpp"
#include "testing/servers/postgresql_server.hpp"

namespace pawl::conformance {
namespace {

class postgresql_engine {
public:
    static std::string_view name() { return "postgresql"; }
    static constexpr store_reach reach() { return store_reach::many_processes; }
    std::string address() const { return std::to_string(server_.port()); }
    static std::shared_ptr<lease_store> open_at(net::loop& where, const std::string& address,
                                                store_settings settings) {
        postgresql::postgresql_settings to;
        to.common = std::move(settings);
        to.servers.servers.push_back({"127.0.0.1", "", address});
        to.servers.keywords.push_back({"user", "postgres"});
        to.servers.keywords.push_back({"dbname", "postgres"});
        return postgresql::make_postgresql_store(where, std::move(to));
    }
    void restart() { server_.restart(); }
    void lose_data() { server_.lose_data(); }
    std::shared_ptr<void> block(const std::string& name_space, const std::string& key) {
        return server_.hold("BEGIN; SELECT * FROM pawl.lease WHERE name_space = '" + name_space +
                            "' AND key = '" + key + "' FOR UPDATE");
    }

private:
    testing_servers::postgresql_server server_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(postgresql, StoreLaws, postgresql_engine);

}  // namespace
}  // namespace pawl::conformance
