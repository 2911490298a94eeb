#include "engines/dynamodb/journal/dynamodb_journal.hpp"

#include "engines/dynamodb/store/dynamodb_fixture.hpp"
#include "test_support/conformance/engines/engine_on.hpp"
#include "test_support/conformance/journal/journal_laws.hpp"

namespace pawl::conformance {
namespace {

class dynamodb_running : public running_on_port<testing_servers::dynamodb_server> {
public:
    static std::string_view name() { return "dynamodb"; }
    static dynamodb::dynamodb_settings settings_at(const std::string& address,
                                                   store_settings common) {
        auto to = dynamodb::on_port(static_cast<std::uint16_t>(std::stoi(address)));
        to.common = std::move(common);
        // The local server takes its time, above all beside other tests.
        to.common.timeout = std::chrono::seconds{20};
        return to;
    }
};
using dynamodb_engine = engine_on<dynamodb_running, dynamodb::make_dynamodb_journal>;

INSTANTIATE_TYPED_TEST_SUITE_P(dynamodb, JournalLaws, dynamodb_engine);

}  // namespace
}  // namespace pawl::conformance
