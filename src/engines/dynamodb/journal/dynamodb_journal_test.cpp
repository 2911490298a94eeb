#include "engines/dynamodb/journal/dynamodb_journal.hpp"

#include "engines/dynamodb/store/dynamodb_fixture.hpp"
#include "test_support/conformance/journal/load.hpp"
#include "test_support/servers/dynamodb_server.hpp"

namespace pawl::dynamodb {
namespace {

// A verb is several requests here, so the load is a small one.
TEST(DynamodbJournal, AServerThatDiesUnderRunsLosesNothingAndDoublesNothing) {
    testing_servers::dynamodb_server server;
    const auto settings = on_port(server.port());
    const auto open = [settings](net::loop& where) {
        return make_dynamodb_journal(where, settings);
    };
    conformance::run_under_kills(server, open, {.runners = 8, .occurrences = 12});
}

}  // namespace
}  // namespace pawl::dynamodb
