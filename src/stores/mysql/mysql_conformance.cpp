#include "stores/mysql/mysql_store.hpp"

#include "testing/conformance/store_laws.hpp"
#include "testing/servers/mysql_server.hpp"

namespace pawl::conformance {
namespace {

using testing_servers::mysql_server;

class mysql_engine {
public:
    static std::string_view name() { return "mysql"; }
    static constexpr store_reach reach() { return store_reach::many_processes; }
    std::string address() const { return std::to_string(server_.port()); }
    static std::shared_ptr<lease_store> open_at(net::loop& where, const std::string& address,
                                                store_settings settings) {
        mysql::mysql_settings to;
        to.common = std::move(settings);
        to.port = static_cast<std::uint16_t>(std::stoi(address));
        to.user = mysql_server::user;
        to.password = mysql_server::password;
        to.database = mysql_server::database;
        return mysql::make_mysql_store(where, std::move(to));
    }
    void restart() { server_.restart(); }
    void lose_data() { server_.lose_data(); }
    std::shared_ptr<void> block(const std::string& name_space, const std::string& key) {
        return server_.hold(
            "START TRANSACTION; SELECT 1 FROM pawl.pawl_lease WHERE name_space = '" + name_space +
            "' AND lock_key = '" + key + "' FOR UPDATE");
    }

private:
    mysql_server server_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(mysql, StoreLaws, mysql_engine);

}  // namespace
}  // namespace pawl::conformance
