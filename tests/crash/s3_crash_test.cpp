// Holders on one bucket of S3 that die or freeze, whose server stops, or whose network is cut.
#include "base/duration.hpp"
#include "test_support/servers/s3_server.hpp"
#include "tests/crash/server_laws.hpp"

#include <cstdlib>

namespace pawl::crash {
namespace {

testing_servers::s3_options open_to_all() {
    testing_servers::s3_options options;
    // From a network of its own a node does not reach our loopback address.
    options.open_to_all = true;
    return options;
}

class s3_engine : public testing_servers::s3_server {
public:
    s3_engine() : s3_server{open_to_all()} {
        // The nodes of the tests inherit them.
        ::setenv("AWS_ACCESS_KEY_ID", key_id, 1);
        ::setenv("AWS_SECRET_ACCESS_KEY", key_secret, 1);
    }
    static std::string url(const std::string& host, std::uint16_t port, millis timeout) {
        return std::string{"s3://"} + bucket + "/pawl?endpoint=http://" + host + ":" +
               std::to_string(port) + "&skew=0s&timeout=" + base::format_duration(timeout);
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(s3, ServerLaws, s3_engine);

}  // namespace
}  // namespace pawl::crash
