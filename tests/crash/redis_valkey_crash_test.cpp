// Holders on one Valkey that die or freeze, whose server stops, or whose network is cut.
#include "tests/crash/redis_engines.hpp"
#include "tests/crash/server_laws.hpp"

namespace pawl::crash {
namespace {

using valkey_engine = redis_engine_of<testing_servers::redis_kind::valkey>;

INSTANTIATE_TYPED_TEST_SUITE_P(valkey, ServerLaws, valkey_engine);

}  // namespace
}  // namespace pawl::crash
