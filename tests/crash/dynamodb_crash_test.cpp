// Holders on one table of DynamoDB that die or freeze, whose server stops, or whose network is cut.
#include "base/duration.hpp"
#include "test_support/servers/dynamodb_server.hpp"
#include "tests/crash/server_laws.hpp"

#include <cstdlib>
#include <stdexcept>

namespace pawl::crash {
namespace {

class dynamodb_engine : public testing_servers::dynamodb_server {
public:
    dynamodb_engine() {
        // The local server takes any; the nodes of the tests inherit them.
        ::setenv("AWS_ACCESS_KEY_ID", "test", 1);
        ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
        // To make a table takes longer than the short timeouts of the nodes.
        const auto made =
            run_pawl({"--store", url("127.0.0.1", port(), millis{60'000}), "locks", "ls"});
        if (made.status != 0) throw std::runtime_error{"no table was made: " + made.output};
    }
    static std::string url(const std::string& host, std::uint16_t port, millis timeout) {
        return "dynamodb://local/pawl?endpoint=http://" + host + ":" + std::to_string(port) +
               "&skew=0s&timeout=" + base::format_duration(timeout);
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(dynamodb, ServerLaws, dynamodb_engine);

}  // namespace
}  // namespace pawl::crash
