#include "engines/mongodb/journal/mongodb_journal.hpp"

#include "engines/mongodb/store/mongodb_running_fixture.hpp"
#include "test_support/conformance/journal/journal_laws.hpp"

namespace pawl::conformance {
namespace {

using mongodb_engine = engine_on<mongodb_running, mongodb::make_mongodb_journal>;

INSTANTIATE_TYPED_TEST_SUITE_P(mongodb, JournalLaws, mongodb_engine);

}  // namespace
}  // namespace pawl::conformance
