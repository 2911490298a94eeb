#include "engines/postgresql/journal/make_postgresql_journal.hpp"

#include "test_support/conformance/engines/postgresql_servers.hpp"
#include "test_support/conformance/journal/journal_laws.hpp"

namespace pawl::conformance {
namespace {

using postgresql_engine = engine_on<postgresql_running, postgresql::make_postgresql_journal>;

INSTANTIATE_TYPED_TEST_SUITE_P(postgresql, JournalLaws, postgresql_engine);

}  // namespace
}  // namespace pawl::conformance
