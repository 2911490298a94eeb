#include "engines/mongodb/journal/mongodb_journal.hpp"

#include "engines/mongodb/store/mongodb_fixture.hpp"
#include "test_support/conformance/journal/load.hpp"
#include "test_support/servers/mongodb_server.hpp"

namespace pawl::mongodb {
namespace {

// A verb is several requests here, so the load is a small one.
TEST(MongodbJournal, AServerThatDiesUnderRunsLosesNothingAndDoublesNothing) {
    testing_servers::mongodb_server server;
    // The local server takes its time, above all beside other tests.
    const auto settings = on_port(server.port(), std::chrono::seconds{20});
    const auto open = [settings](net::loop& where) {
        return make_mongodb_journal(where, settings);
    };
    conformance::run_under_kills(server, open, {.runners = 8, .occurrences = 12});
}

}  // namespace
}  // namespace pawl::mongodb
