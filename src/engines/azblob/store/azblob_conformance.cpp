#include "engines/azblob/store/azblob_fixture.hpp"
#include "test_support/conformance/engines/engine_on.hpp"
#include "test_support/conformance/engines/spoiled_record.hpp"
#include "test_support/conformance/store_laws.hpp"

namespace pawl::conformance {
namespace {

class azblob_running : public running_for_cloud<testing_servers::azurite_server, azblob::on_port> {
public:
    static std::string_view name() { return "azblob"; }
};
using azblob_engine = engine_on<spoils_records<azblob_running, azblob::make_azblob_medium>,
                                azblob::make_azblob_store>;

INSTANTIATE_TYPED_TEST_SUITE_P(azblob, StoreLaws, azblob_engine);

}  // namespace
}  // namespace pawl::conformance
