#include "journals/redis/redis_journal.hpp"

#include "testing/conformance/journal/journal_laws.hpp"
#include "testing/servers/redis_cluster.hpp"
#include "testing/servers/redis_sentinels.hpp"
#include "testing/servers/redis_server.hpp"

#include <sstream>

namespace pawl::conformance {
namespace {

using testing_servers::redis_persistence;

testing_servers::redis_options synced() {
    testing_servers::redis_options options;
    options.persistence = redis_persistence::append_synced;
    return options;
}

class redis_engine {
public:
    static std::string_view name() { return "redis"; }
    static constexpr store_reach reach() { return store_reach::many_processes; }
    std::string address() const { return std::to_string(server_.port()); }
    static std::shared_ptr<journal> open_at(net::loop& where, const std::string& address,
                                            store_settings settings) {
        redis::redis_settings to;
        to.common = std::move(settings);
        to.port = static_cast<std::uint16_t>(std::stoi(address));
        return redis::make_redis_journal(where, std::move(to));
    }
    void restart() { server_.restart(); }

private:
    testing_servers::redis_server server_{synced()};
};

// HOST:PORT,HOST:PORT
std::vector<redis::server_address> addresses_in(const std::string& text) {
    std::vector<redis::server_address> all;
    std::istringstream parts{text};
    for (std::string one; std::getline(parts, one, ',');) {
        const auto colon = one.rfind(':');
        all.push_back(
            {one.substr(0, colon), static_cast<std::uint16_t>(std::stoi(one.substr(colon + 1)))});
    }
    return all;
}

class redis_cluster_engine {
public:
    static std::string_view name() { return "redis_cluster"; }
    static constexpr store_reach reach() { return store_reach::many_processes; }
    std::string address() const { return nodes_.hosts(); }
    static std::shared_ptr<journal> open_at(net::loop& where, const std::string& address,
                                            store_settings settings) {
        redis::redis_settings to;
        to.common = std::move(settings);
        to.shape = redis::topology::cluster;
        to.seeds = addresses_in(address);
        return redis::make_redis_journal(where, std::move(to));
    }
    void restart() { nodes_.restart(); }

private:
    testing_servers::redis_cluster nodes_{{.persistence = redis_persistence::append_synced}};
};

class redis_sentinel_engine {
public:
    static std::string_view name() { return "redis_sentinel"; }
    static constexpr store_reach reach() { return store_reach::many_processes; }
    std::string address() const { return servers_.hosts(); }
    static std::shared_ptr<journal> open_at(net::loop& where, const std::string& address,
                                            store_settings settings) {
        redis::redis_settings to;
        to.common = std::move(settings);
        to.shape = redis::topology::sentinel;
        to.seeds = addresses_in(address);
        to.master_name = testing_servers::redis_sentinels::master_name;
        return redis::make_redis_journal(where, std::move(to));
    }
    void restart() { servers_.restart(); }

private:
    // A master that is started again is not to be replaced meanwhile.
    testing_servers::redis_sentinels servers_{
        {.persistence = redis_persistence::append_synced, .down_after = 10s}};
};

INSTANTIATE_TYPED_TEST_SUITE_P(redis, JournalLaws, redis_engine);
INSTANTIATE_TYPED_TEST_SUITE_P(redis_cluster, JournalLaws, redis_cluster_engine);
INSTANTIATE_TYPED_TEST_SUITE_P(redis_sentinel, JournalLaws, redis_sentinel_engine);

}  // namespace
}  // namespace pawl::conformance
