// Holders on one container of Azure that die or freeze, whose server stops, or whose network is
// cut.
#include "base/duration.hpp"
#include "test_support/servers/azurite_server.hpp"
#include "tests/crash/server_laws.hpp"

#include <cstdlib>
#include <string>

namespace pawl::crash {
namespace {

class azblob_engine : public testing_servers::azurite_server {
public:
    azblob_engine() {
        // The nodes of the tests inherit it.
        ::setenv("AZURE_STORAGE_KEY", key, 1);
    }
    static std::string url(const std::string& host, std::uint16_t port, millis timeout) {
        const std::string name{account};
        return "azblob://" + name + "/pawl?endpoint=http://" + host + ":" + std::to_string(port) +
               "/" + name + "&skew=0s&timeout=" + base::format_duration(timeout);
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(azblob, ServerLaws, azblob_engine);

}  // namespace
}  // namespace pawl::crash
