#include "engines/s3/store/s3_fixture.hpp"
#include "test_support/conformance/engines/engine_on.hpp"
#include "test_support/conformance/store_laws.hpp"

namespace pawl::conformance {
namespace {

class s3_running : public running_on_port<testing_servers::s3_server> {
public:
    static std::string_view name() { return "s3"; }
    // A waiter looks once a second.
    static constexpr std::uint64_t contested_grants = 10;
    static s3::s3_settings settings_at(const std::string& address, store_settings common) {
        auto to = s3::on_port(static_cast<std::uint16_t>(std::stoi(address)));
        to.common = std::move(common);
        // A server over files takes its time beside other tests.
        to.common.timeout = std::chrono::seconds{20};
        return to;
    }
};
using s3_engine = engine_on<s3_running, s3::make_s3_store>;

INSTANTIATE_TYPED_TEST_SUITE_P(s3, StoreLaws, s3_engine);

}  // namespace
}  // namespace pawl::conformance
