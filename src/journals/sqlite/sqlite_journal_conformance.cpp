#include "journals/sqlite/sqlite_journal.hpp"

#include "testing/conformance/engines/sqlite_file.hpp"
#include "testing/conformance/journal/journal_laws.hpp"

namespace pawl::conformance {
namespace {

using sqlite_engine = sqlite_file<sqlite::make_sqlite_journal>;

INSTANTIATE_TYPED_TEST_SUITE_P(sqlite, JournalLaws, sqlite_engine);

}  // namespace
}  // namespace pawl::conformance
