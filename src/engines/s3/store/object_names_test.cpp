#include "engines/s3/store/object_names.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <vector>

namespace pawl::s3 {
namespace {

const std::string folder = folder_of("pawl", "default");

std::string lease_name(const std::string& key) {
    return name_of(folder, {cas::record_kind::lease, key});
}

TEST(ObjectNames, PeopleCanReadThem) {
    EXPECT_EQ(folder, "pawl/default/");
    EXPECT_EQ(folder_of("", ".."), ".2e./");
    EXPECT_EQ(lease_name("job/nightly-1.2"), "pawl/default/leases/job/nightly-1.2!");
    EXPECT_EQ(lease_name("two words"), "pawl/default/leases/two!20words!");
    EXPECT_EQ(lease_name("../a//b/."), "pawl/default/leases/.2e./a/.2fb/.2e!");
    EXPECT_EQ(lease_name("\xc3\xa9~"), "pawl/default/leases/~c3~a9~7e!");
    EXPECT_EQ(name_of(folder, {cas::record_kind::fence, "disk"}), "pawl/default/fences/disk!");
    EXPECT_EQ(name_of(folder, {cas::record_kind::marker, ""}), "pawl/default/marker");
    EXPECT_EQ(names_begin(folder, cas::record_kind::lease, "job/"), "pawl/default/leases/job/");
}

// Goal: a list by name is one by key, whatever the keys are. Method: keys by seed, of bytes that
// have something about them, some with long parts; their names are sorted like them, are read back,
// and have no part that a file could not have.
TEST(ObjectNames, AreInTheOrderOfTheirKeys) {
    std::mt19937 random{7};
    const std::string odd = " !+-./09:AZ\\_az{}~\x7f\x80\xff";
    std::vector<std::string> keys;
    for (int i = 0; i < 3000; ++i) {
        std::string key(i % 3 == 0 ? 190 + random() % 60 : 0, i % 2 == 0 ? 'a' : '.');
        for (auto more = 1 + random() % 8; more > 0; --more) key += odd[random() % odd.size()];
        keys.push_back(key);
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    std::string before;
    for (const auto& key : keys) {
        const auto name = lease_name(key);
        EXPECT_LT(before, name) << key;
        EXPECT_EQ(key_of(folder, cas::record_kind::lease, name), key);
        for (std::size_t end = 0; end <= key.size(); ++end)
            EXPECT_TRUE(
                name.starts_with(names_begin(folder, cas::record_kind::lease, key.substr(0, end))));
        std::size_t at = 0;
        for (auto rest = name; at != std::string::npos; rest = rest.substr(at + 1)) {
            at = rest.find('/');
            const auto part = rest.substr(0, at);
            EXPECT_TRUE(!part.empty() && part.size() < 255 && part != "." && part != "..") << name;
            if (at == std::string::npos) break;
        }
        before = name;
    }
}

TEST(ObjectNames, TheLongestKeyOfLettersFits) {
    const std::string key(512, 'k');
    EXPECT_LE(lease_name(key).size(), name_max);
    EXPECT_EQ(key_of(folder, cas::record_kind::lease, lease_name(key)), key);
}

TEST(ObjectNames, WhatOthersPutThereIsNoRecord) {
    for (const auto* name :
         {"", "pawl/default/marker", "pawl/default/leases/", "pawl/default/leases/!",
          "pawl/default/leases/a", "pawl/default/leases/!4!", "pawl/default/leases/!xx!",
          "pawl/default/leases/~41!", "pawl/default/leases/a//b!", "pawl/default/leases/./a!",
          "pawl/default/fences/a!", "other/default/leases/a!"})
        EXPECT_EQ(key_of(folder, cas::record_kind::lease, name), std::nullopt) << name;
}

TEST(ObjectNames, BucketsAndPrefixesAreChecked) {
    for (const auto* good : {"abc", "my-bucket.example.org"}) EXPECT_FALSE(bucket_fault(good));
    for (const auto* bad : {"", "ab", "Upper", "under_score", "a/b", "fast--use1-az4--x-s3"})
        EXPECT_TRUE(bucket_fault(bad)) << bad;
    EXPECT_TRUE(bucket_fault(std::string(64, 'b')));
    for (const auto* good : {"", "pawl", "a/b_c-d.e"}) EXPECT_FALSE(prefix_fault(good)) << good;
    for (const auto* bad : {"/a", "a/", "a//b", "./a", "a/..", "a b", "\xc3\xa9"})
        EXPECT_TRUE(prefix_fault(bad)) << bad;
    EXPECT_TRUE(prefix_fault(std::string(129, 'p')));
}

}  // namespace
}  // namespace pawl::s3
