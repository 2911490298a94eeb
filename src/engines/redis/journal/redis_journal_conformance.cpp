#include "engines/redis/journal/make_redis_journal.hpp"

#include "test_support/conformance/engines/redis_servers.hpp"
#include "test_support/conformance/journal/journal_laws.hpp"

namespace pawl::conformance {
namespace {

using redis_engine = engine_on<redis_alone, redis::make_redis_journal>;
using valkey_engine = engine_on<valkey_alone, redis::make_redis_journal>;
using cluster_engine = engine_on<redis_in_cluster, redis::make_redis_journal>;
using sentinel_engine = engine_on<redis_with_sentinels, redis::make_redis_journal>;

INSTANTIATE_TYPED_TEST_SUITE_P(redis, JournalLaws, redis_engine);
INSTANTIATE_TYPED_TEST_SUITE_P(redis_valkey, JournalLaws, valkey_engine);
INSTANTIATE_TYPED_TEST_SUITE_P(redis_cluster, JournalLaws, cluster_engine);
INSTANTIATE_TYPED_TEST_SUITE_P(redis_sentinel, JournalLaws, sentinel_engine);

}  // namespace
}  // namespace pawl::conformance
