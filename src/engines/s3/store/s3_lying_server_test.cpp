// A server that answers 200 whatever the condition is rejected, by what it does.
#include "engines/s3/store/s3_fixture.hpp"
#include "test_support/conformance/client.hpp"
#include "test_support/conformance/expectations.hpp"

#include <gtest/gtest.h>

namespace pawl::s3 {
namespace {

using conformance::client;
using conformance::expect_failure;
using conformance::fresh_claim;
using testing_servers::unconditional_s3_server;

TEST(S3LyingServer, AServerThatIgnoresConditionsIsRejectedInOneLine) {
    const unconditional_s3_server server;
    auto settings = on_port(server.port(), millis{20'000});
    settings.service.keys.keys = {unconditional_s3_server::key, unconditional_s3_server::key, ""};
    client mine{[=](net::loop& where) { return make_s3_store(where, settings); }};
    const auto got = mine.acquire(fresh_claim("key"));
    expect_failure(got, errc::unsupported,
                   " of 8 writers that raced for one record won: this server does not keep the "
                   "conditions of writes");
    expect_failure(mine.inspect("key"), errc::unsupported, "use another store");
}

}  // namespace
}  // namespace pawl::s3
