// Holders on a master behind its sentinels that die or freeze, whose servers stop, or whose network
// is cut. What a failover does is in src/engines/redis/store/redis_sentinel_test.cpp.
#include "base/duration.hpp"
#include "test_support/servers/redis_sentinels.hpp"
#include "tests/crash/server_laws.hpp"

namespace pawl::crash {
namespace {

using testing_servers::redis_sentinels;

// The sentinels stay: they name the master, and have nobody to replace it by.
class sentinel_engine {
public:
    static constexpr addresses where = addresses::told;
    static constexpr std::size_t sentinels = 3;

    // The sentinels, then the servers.
    std::vector<std::uint16_t> ports() {
        auto all = servers_.ports();
        for (std::size_t i = 0; i < servers_.size(); ++i) all.push_back(servers_.node(i).port());
        return all;
    }
    static std::string url(const std::string& host, std::vector<std::uint16_t> ports,
                           millis timeout) {
        ports.resize(sentinels);
        return "redis+sentinel://" + hosts_at(host, ports) + "/" + redis_sentinels::master_name +
               "?timeout=" + base::format_duration(timeout);
    }
    void crash() {
        for (std::size_t i = servers_.size(); i-- > 0;) servers_.node(i).crash();
    }
    void start() {
        for (std::size_t i = 0; i < servers_.size(); ++i) servers_.node(i).start();
    }
    void freeze() {
        for (std::size_t i = servers_.size(); i-- > 0;) servers_.node(i).freeze();
    }
    void thaw() {
        for (std::size_t i = 0; i < servers_.size(); ++i) servers_.node(i).thaw();
    }

private:
    redis_sentinels servers_{{.persistence = testing_servers::redis_persistence::append_synced,
                              .down_after = std::chrono::seconds{10}}};
};

INSTANTIATE_TYPED_TEST_SUITE_P(redis_sentinel, ServerLaws, sentinel_engine);

}  // namespace
}  // namespace pawl::crash
