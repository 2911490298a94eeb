#include "engines/sqlite/store/sqlite_store.hpp"

#include "test_support/conformance/engines/sqlite_file.hpp"
#include "test_support/conformance/store_laws.hpp"

namespace pawl::conformance {
namespace {

using sqlite_engine = sqlite_file<sqlite::make_sqlite_store>;

INSTANTIATE_TYPED_TEST_SUITE_P(sqlite, StoreLaws, sqlite_engine);

}  // namespace
}  // namespace pawl::conformance
