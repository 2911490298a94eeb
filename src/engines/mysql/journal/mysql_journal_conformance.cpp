#include "engines/mysql/journal/make_mysql_journal.hpp"

#include "test_support/conformance/engines/mysql_servers.hpp"
#include "test_support/conformance/journal/journal_laws.hpp"

namespace pawl::conformance {
namespace {

using mysql_engine = engine_on<mysql_running, mysql::make_mysql_journal>;

INSTANTIATE_TYPED_TEST_SUITE_P(mysql, JournalLaws, mysql_engine);

}  // namespace
}  // namespace pawl::conformance
