// A server that lets several writers win under one condition is rejected, by what it does.
#include "engines/mongodb/store/mongodb_fixture.hpp"
#include "test_support/conformance/rejections.hpp"

namespace pawl::mongodb {
namespace {

using conformance::client;
using conformance::expect_failure;
using testing_servers::unconditional_mongodb_server;

TEST(MongodbLyingServer, AServerThatDoesNotKeepConditionsIsRejectedInOneLine) {
    const unconditional_mongodb_server server;
    auto settings = on_port(server.port(), millis{20'000});
    // On a busy machine few requests are under way at once, and then it happens to be right.
    for (int i = 0; i < 20; ++i) {
        settings.collection = "pawl" + std::to_string(i);
        client mine{[=](net::loop& where) { return make_mongodb_store(where, settings); }};
        const auto got = mine.acquire(conformance::fresh_claim("key"));
        if (got.has_value()) continue;
        expect_failure(got, errc::unsupported,
                       " of 8 writers that raced for one record won: this server does not keep "
                       "the conditions of writes");
        expect_failure(mine.inspect("key"), errc::unsupported, "use another store");
        return;
    }
    FAIL() << "it was taken for one that keeps conditions";
}

}  // namespace
}  // namespace pawl::mongodb
