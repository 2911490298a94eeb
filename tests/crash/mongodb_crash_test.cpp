// Holders on one MongoDB that die or freeze, whose server stops, or whose network is cut.
#include "base/duration.hpp"
#include "test_support/servers/mongodb_server.hpp"
#include "tests/crash/server_laws.hpp"

#include <string>

namespace pawl::crash {
namespace {

class mongodb_engine : public testing_servers::mongodb_server {
public:
    static std::string url(const std::string& host, std::uint16_t port, millis timeout) {
        return "mongodb://" + host + ":" + std::to_string(port) +
               "/pawl?skew=0s&timeout=" + base::format_duration(timeout);
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(mongodb, ServerLaws, mongodb_engine);

}  // namespace
}  // namespace pawl::crash
