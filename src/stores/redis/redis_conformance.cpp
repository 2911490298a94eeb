#include "stores/redis/redis_store.hpp"

#include "testing/conformance/store_laws.hpp"
#include "testing/servers/redis_server.hpp"

namespace pawl::conformance {
namespace {

testing_servers::redis_options synced() {
    testing_servers::redis_options options;
    options.persistence = testing_servers::redis_persistence::append_synced;
    return options;
}

class redis_engine {
public:
    static std::string_view name() { return "redis"; }
    static constexpr store_reach reach() { return store_reach::many_processes; }
    std::string address() const { return std::to_string(server_.port()); }
    static std::shared_ptr<lease_store> open_at(net::loop& where, const std::string& address,
                                                store_settings settings) {
        redis::redis_settings to;
        to.common = std::move(settings);
        to.port = static_cast<std::uint16_t>(std::stoi(address));
        return redis::make_redis_store(where, std::move(to));
    }
    void restart() { server_.restart(); }
    void lose_data() { server_.lose_data(); }

private:
    testing_servers::redis_server server_{synced()};
};

INSTANTIATE_TYPED_TEST_SUITE_P(redis, StoreLaws, redis_engine);

}  // namespace
}  // namespace pawl::conformance
