#include "engines/dynamodb/store/dynamodb_running_fixture.hpp"
#include "test_support/conformance/store_laws.hpp"

namespace pawl::conformance {
namespace {

using dynamodb_engine = engine_on<dynamodb_running, dynamodb::make_dynamodb_store>;

INSTANTIATE_TYPED_TEST_SUITE_P(dynamodb, StoreLaws, dynamodb_engine);

}  // namespace
}  // namespace pawl::conformance
