#include "engines/mongodb/store/mongodb_running_fixture.hpp"
#include "test_support/conformance/engines/spoiled_record.hpp"
#include "test_support/conformance/store_laws.hpp"

namespace pawl::conformance {
namespace {

using mongodb_engine = engine_on<spoils_records<mongodb_running, mongodb::make_mongodb_medium>,
                                 mongodb::make_mongodb_store>;

INSTANTIATE_TYPED_TEST_SUITE_P(mongodb, StoreLaws, mongodb_engine);

}  // namespace
}  // namespace pawl::conformance
