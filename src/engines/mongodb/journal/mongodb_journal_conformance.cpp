#include "engines/mongodb/journal/mongodb_journal.hpp"

#include "engines/mongodb/store/mongodb_fixture.hpp"
#include "test_support/conformance/engines/engine_on.hpp"
#include "test_support/conformance/journal/journal_laws.hpp"

namespace pawl::conformance {
namespace {

class mongodb_running : public running_on_port<testing_servers::mongodb_server> {
public:
    static std::string_view name() { return "mongodb"; }
    static mongodb::mongodb_settings settings_at(const std::string& address,
                                                 store_settings common) {
        auto to = mongodb::on_port(static_cast<std::uint16_t>(std::stoi(address)));
        to.common = std::move(common);
        // The local server takes its time, above all beside other tests.
        to.common.timeout = std::chrono::seconds{20};
        return to;
    }
};
using mongodb_engine = engine_on<mongodb_running, mongodb::make_mongodb_journal>;

INSTANTIATE_TYPED_TEST_SUITE_P(mongodb, JournalLaws, mongodb_engine);

}  // namespace
}  // namespace pawl::conformance
