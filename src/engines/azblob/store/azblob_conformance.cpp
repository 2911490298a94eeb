#include "engines/azblob/store/azblob_fixture.hpp"
#include "test_support/conformance/engines/engine_on.hpp"
#include "test_support/conformance/store_laws.hpp"

namespace pawl::conformance {
namespace {

class azblob_running : public running_on_port<testing_servers::azurite_server> {
public:
    static std::string_view name() { return "azblob"; }
    // A waiter looks once a second.
    static constexpr std::uint64_t contested_grants = 10;
    static azblob::azblob_settings settings_at(const std::string& address, store_settings common) {
        auto to = azblob::on_port(static_cast<std::uint16_t>(std::stoi(address)));
        to.common = std::move(common);
        // The local server takes its time, above all beside other tests.
        to.common.timeout = std::chrono::seconds{20};
        return to;
    }
};
using azblob_engine = engine_on<azblob_running, azblob::make_azblob_store>;

INSTANTIATE_TYPED_TEST_SUITE_P(azblob, StoreLaws, azblob_engine);

}  // namespace
}  // namespace pawl::conformance
