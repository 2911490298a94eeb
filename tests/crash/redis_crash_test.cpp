// Holders on one Redis that die or freeze, whose server stops, or whose network is cut.
#include "tests/crash/redis_engines.hpp"
#include "tests/crash/server_laws.hpp"

namespace pawl::crash {
namespace {

using redis_engine = redis_engine_of<testing_servers::redis_kind::redis>;

INSTANTIATE_TYPED_TEST_SUITE_P(redis, ServerLaws, redis_engine);

}  // namespace
}  // namespace pawl::crash
