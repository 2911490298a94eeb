#include "engines/dynamodb/journal/dynamodb_journal.hpp"

#include "engines/dynamodb/store/dynamodb_running_fixture.hpp"
#include "test_support/conformance/journal/journal_laws.hpp"

namespace pawl::conformance {
namespace {

using dynamodb_engine = engine_on<dynamodb_running, dynamodb::make_dynamodb_journal>;

INSTANTIATE_TYPED_TEST_SUITE_P(dynamodb, JournalLaws, dynamodb_engine);

}  // namespace
}  // namespace pawl::conformance
