#include "journals/mysql/mysql_journal.hpp"

#include "testing/conformance/engines/mysql_servers.hpp"
#include "testing/conformance/journal/journal_laws.hpp"

namespace pawl::conformance {
namespace {

using mysql_engine = engine_on<mysql_running, mysql::make_mysql_journal>;

INSTANTIATE_TYPED_TEST_SUITE_P(mysql, JournalLaws, mysql_engine);

}  // namespace
}  // namespace pawl::conformance
