#include "engines/sqlite/journal/sqlite_journal.hpp"

#include "test_support/conformance/engines/sqlite_file.hpp"
#include "test_support/conformance/journal/journal_laws.hpp"

namespace pawl::conformance {
namespace {

using sqlite_engine = sqlite_file<sqlite::make_sqlite_journal>;

INSTANTIATE_TYPED_TEST_SUITE_P(sqlite, JournalLaws, sqlite_engine);

}  // namespace
}  // namespace pawl::conformance
