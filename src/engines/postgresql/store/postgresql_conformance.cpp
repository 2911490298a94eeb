#include "engines/postgresql/store/postgresql_store.hpp"

#include "test_support/conformance/engines/postgresql_servers.hpp"
#include "test_support/conformance/store_laws.hpp"

namespace pawl::conformance {
namespace {

using postgresql_engine = engine_on<postgresql_running, postgresql::make_postgresql_store>;

INSTANTIATE_TYPED_TEST_SUITE_P(postgresql, StoreLaws, postgresql_engine);

}  // namespace
}  // namespace pawl::conformance
