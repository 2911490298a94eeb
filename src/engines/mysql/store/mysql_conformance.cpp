#include "engines/mysql/store/mysql_store.hpp"

#include "test_support/conformance/engines/mysql_servers.hpp"
#include "test_support/conformance/store_laws.hpp"

namespace pawl::conformance {
namespace {

using mysql_engine = engine_on<mysql_running, mysql::make_mysql_store>;

INSTANTIATE_TYPED_TEST_SUITE_P(mysql, StoreLaws, mysql_engine);

}  // namespace
}  // namespace pawl::conformance
