#include "engines/zookeeper/store/znode_names.hpp"

#include <gtest/gtest.h>

#include <set>

namespace pawl::zookeeper {
namespace {

TEST(ZnodeNames, PlainKeysStayAsTheyAre) {
    EXPECT_EQ(encode_name("job:nightly-report_7"), "job:nightly-report_7");
    EXPECT_EQ(encode_name("job/nightly"), "job%2Fnightly");
    EXPECT_EQ(encode_name("100%"), "100%25");
}

// Goal: no key makes a name that ZooKeeper rejects. Method: what its checks look for.
TEST(ZnodeNames, NoNameIsADotOrHoldsASlashOrAByteBeyondAscii) {
    EXPECT_EQ(encode_name("."), "%2E");
    EXPECT_EQ(encode_name(".."), "%2E.");
    EXPECT_EQ(encode_name("a.b"), "a.b");
    for (int byte = 1; byte < 256; ++byte) {
        const auto name = encode_name(std::string(2, static_cast<char>(byte)));
        EXPECT_EQ(name.find('/'), std::string::npos);
        for (const char c : name) EXPECT_TRUE(c >= ' ' && c < 0x7f) << byte;
    }
}

TEST(ZnodeNames, EveryKeyComesBack) {
    for (int high = 0; high < 256; ++high)
        for (const int low : {0, 1, 37, 46, 47, 65, 127, 128, 255}) {
            const std::string key{static_cast<char>(high), static_cast<char>(low)};
            EXPECT_EQ(decode_name(encode_name(key)), key);
        }
}

TEST(ZnodeNames, ANameThatNoKeyEncodesToIsNoKey) {
    for (const auto* name : {"%", "%2", "%2f", "%41", "a/b", "%ZZ", "."})
        EXPECT_EQ(decode_name(name), std::nullopt) << name;
}

// Goal: buckets are even enough, and never change. Method: many keys, and three known ones.
TEST(ZnodeNames, KeysSpreadOverSixtyFourBuckets) {
    std::multiset<std::string> buckets;
    for (int i = 0; i < 6400; ++i) buckets.insert(bucket_of("job/" + std::to_string(i)));
    std::set<std::string> names{buckets.begin(), buckets.end()};
    EXPECT_EQ(names.size(), 64u);
    for (const auto& name : names) {
        EXPECT_GT(buckets.count(name), 50u);
        EXPECT_LT(buckets.count(name), 200u);
    }
    EXPECT_EQ(bucket_of(""), "05");
    EXPECT_EQ(bucket_of("a"), "2D");
    EXPECT_EQ(bucket_of("job/nightly"), "27");
}

TEST(ZnodeNames, ANamespaceIsOneZnodeBelowTheChroot) {
    const layout paths{"/locks/production", "pawl"};
    EXPECT_EQ(paths.root(), "/locks/production/pawl");
    EXPECT_EQ(paths.record_of("a/b"), paths.locks() + "/" + bucket_of("a/b") + "/a%2Fb");
    EXPECT_EQ(parent_of(paths.record_of("a")), paths.locks() + "/" + bucket_of("a"));
    EXPECT_EQ(layout("", ".").root(), "/%2E");
    EXPECT_EQ(parent_of("/a"), "/");
}

}  // namespace
}  // namespace pawl::zookeeper
