#include "engines/s3/store/s3_fixture.hpp"
#include "test_support/conformance/engines/engine_on.hpp"
#include "test_support/conformance/engines/spoiled_record.hpp"
#include "test_support/conformance/store_laws.hpp"

namespace pawl::conformance {
namespace {

class s3_running : public running_for_cloud<testing_servers::s3_server, s3::on_port> {
public:
    static std::string_view name() { return "s3"; }
};
using s3_engine = engine_on<spoils_records<s3_running, s3::make_s3_medium>, s3::make_s3_store>;

INSTANTIATE_TYPED_TEST_SUITE_P(s3, StoreLaws, s3_engine);

}  // namespace
}  // namespace pawl::conformance
