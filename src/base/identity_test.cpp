#include "base/identity.hpp"

#include <pawl/types.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace pawl::base {
namespace {

TEST(Identity, IdsAreFreshAndOfOneForm) {
    std::set<std::string> seen;
    for (int i = 0; i < 1000; ++i) {
        const auto id = fresh_id();
        EXPECT_THAT(id, testing::MatchesRegex("[0-9a-f]{32}"));
        EXPECT_TRUE(seen.insert(id).second);
    }
}

TEST(Identity, ASourceOfIdsNeverRepeatsItself) {
    id_source source;
    std::set<std::string> seen;
    for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(seen.insert(source.next()).second);
    EXPECT_THAT(*seen.begin(), testing::MatchesRegex("[0-9a-f]{32}"));
}

TEST(Identity, UuidsCarryTheirVersionAndVariant) {
    for (int i = 0; i < 100; ++i)
        EXPECT_THAT(fresh_uuid(),
                    testing::MatchesRegex(
                        "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
}

// R36, R191: host, process, start and a nonce; never too long, never a control character.
TEST(Identity, TheOwnerNamesHostProcessAndStart) {
    EXPECT_EQ(owner_name("db-1", 42, 1700000000, "ab12"), "db-1:42:1700000000:ab12");
    const auto long_name = owner_name(std::string(500, 'h'), 42, 1700000000, "ab12");
    EXPECT_EQ(long_name.size(), owner_bytes_max);
    EXPECT_TRUE(long_name.ends_with(":42:1700000000:ab12"));
    EXPECT_EQ(owner_name("a\nb", 1, 2, "c"), "a?b:1:2:c");
}

}  // namespace
}  // namespace pawl::base
