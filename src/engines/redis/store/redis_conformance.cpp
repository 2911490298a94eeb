#include "engines/redis/store/make_redis_store.hpp"

#include "test_support/conformance/engines/redis_servers.hpp"
#include "test_support/conformance/store_laws.hpp"

namespace pawl::conformance {
namespace {

using redis_engine = engine_on<redis_alone, redis::make_redis_store>;
using valkey_engine = engine_on<valkey_alone, redis::make_redis_store>;
using cluster_engine = engine_on<redis_in_cluster, redis::make_redis_store>;
using sentinel_engine = engine_on<redis_with_sentinels, redis::make_redis_store>;

INSTANTIATE_TYPED_TEST_SUITE_P(redis, StoreLaws, redis_engine);
INSTANTIATE_TYPED_TEST_SUITE_P(redis_valkey, StoreLaws, valkey_engine);
INSTANTIATE_TYPED_TEST_SUITE_P(redis_cluster, StoreLaws, cluster_engine);
INSTANTIATE_TYPED_TEST_SUITE_P(redis_sentinel, StoreLaws, sentinel_engine);

}  // namespace
}  // namespace pawl::conformance
