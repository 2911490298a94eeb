#include "engines/dynamodb/store/dynamodb_running_fixture.hpp"
#include "test_support/conformance/engines/spoiled_record.hpp"
#include "test_support/conformance/store_laws.hpp"

namespace pawl::conformance {
namespace {

using dynamodb_engine = engine_on<spoils_records<dynamodb_running, dynamodb::make_dynamodb_medium>,
                                  dynamodb::make_dynamodb_store>;

INSTANTIATE_TYPED_TEST_SUITE_P(dynamodb, StoreLaws, dynamodb_engine);

}  // namespace
}  // namespace pawl::conformance
