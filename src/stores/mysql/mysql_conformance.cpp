#include "stores/mysql/mysql_store.hpp"

#include "testing/conformance/engines/mysql_servers.hpp"
#include "testing/conformance/store_laws.hpp"

namespace pawl::conformance {
namespace {

using mysql_engine = engine_on<mysql_running, mysql::make_mysql_store>;

INSTANTIATE_TYPED_TEST_SUITE_P(mysql, StoreLaws, mysql_engine);

}  // namespace
}  // namespace pawl::conformance
