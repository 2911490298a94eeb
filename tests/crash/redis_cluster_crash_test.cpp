// Holders on a Redis Cluster that die or freeze, whose servers stop, or whose network is cut. What
// a failover and a moving slot do is in src/engines/redis/store/redis_cluster_test.cpp.
#include "base/duration.hpp"
#include "test_support/servers/redis_cluster.hpp"
#include "tests/crash/server_laws.hpp"

namespace pawl::crash {
namespace {

class cluster_engine {
public:
    static constexpr addresses where = addresses::told;

    std::vector<std::uint16_t> ports() {
        std::vector<std::uint16_t> all;
        for (std::size_t i = 0; i < servers_.size(); ++i) all.push_back(servers_.node(i).port());
        return all;
    }
    static std::string url(const std::string& host, const std::vector<std::uint16_t>& ports,
                           millis timeout) {
        return "redis+cluster://" + hosts_at(host, ports) +
               "?timeout=" + base::format_duration(timeout);
    }
    void crash() {
        for (std::size_t i = 0; i < servers_.size(); ++i) servers_.node(i).crash();
    }
    void start() {
        for (std::size_t i = 0; i < servers_.size(); ++i) servers_.node(i).start();
        servers_.wait_until_whole();
    }
    void freeze() {
        for (std::size_t i = 0; i < servers_.size(); ++i) servers_.node(i).freeze();
    }
    void thaw() {
        for (std::size_t i = 0; i < servers_.size(); ++i) servers_.node(i).thaw();
    }

private:
    testing_servers::redis_cluster servers_{
        {.persistence = testing_servers::redis_persistence::append_synced}};
};

INSTANTIATE_TYPED_TEST_SUITE_P(redis_cluster, ServerLaws, cluster_engine);

}  // namespace
}  // namespace pawl::crash
