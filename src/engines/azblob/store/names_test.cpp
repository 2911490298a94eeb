#include "engines/azblob/store/names.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pawl::azblob {
namespace {

using cas::record_kind;

const place_of_blobs here{"team/a", "pawl"};

// Source: RFC 4648, 10, in lower case and without padding.
TEST(Base32, IsThatOfTheRfc) {
    const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                           {"f", "co"},
                                                           {"fo", "cpng"},
                                                           {"foo", "cpnmu"},
                                                           {"foob", "cpnmuog"},
                                                           {"fooba", "cpnmuoj1"},
                                                           {"foobar", "cpnmuoj1e8"}};
    for (const auto& [plain, coded] : vectors) {
        EXPECT_EQ(to_base32(plain), coded);
        EXPECT_EQ(from_base32(coded), plain);
    }
    for (const auto* text : {"c", "CO", "cp", "co=", "cow", "c o"})
        EXPECT_EQ(from_base32(text), std::nullopt) << text;
}

// Goal: a list by the names of blobs is a list by keys. Method: all pairs of many keys.
TEST(Names, SortAsTheirKeysDo) {
    std::vector<std::string> keys;
    for (const auto* key : {"a", "a/", "a/1", "a/10", "a/2", "a0", "b", "B", "~", "z"})
        keys.emplace_back(key);
    for (const auto* key : {"\x01", "a\x01", "a\xff", "\xff", "\xff\xff", "b\xc3\xa9"})
        keys.emplace_back(key);
    for (const auto& one : keys)
        for (const auto& other : keys) {
            const auto left = blob_of(here, {record_kind::lease, one});
            const auto right = blob_of(here, {record_kind::lease, other});
            EXPECT_EQ(left < right, one < other) << one << " " << other;
            EXPECT_EQ(key_of(here, record_kind::lease, left), one);
            if (one.starts_with(other)) {
                EXPECT_TRUE(left.starts_with(blobs_from(here, record_kind::lease, other)));
            }
        }
}

TEST(Names, AreThoseOfTheirNamespaceAndKind) {
    EXPECT_EQ(blob_of(here, {record_kind::marker, ""}), "team/a/pawl/m");
    EXPECT_EQ(blob_of(here, {record_kind::lease, "foo"}), "team/a/pawl/l/cpnmu");
    EXPECT_EQ(blob_of({"", "pawl"}, {record_kind::fence, "f"}), "pawl/f/co");
    EXPECT_EQ(key_of(here, record_kind::fence, "team/a/pawl/l/cpnmu"), std::nullopt);
    EXPECT_EQ(key_of(here, record_kind::lease, "team/a/pawl/l/"), std::nullopt);
    EXPECT_EQ(key_of(here, record_kind::lease, "team/a/pawl/l/a note"), std::nullopt);
    EXPECT_EQ(blobs_from(here, record_kind::lease, ""), "team/a/pawl/l/");
    // Azure takes 1024.
    const place_of_blobs deep{std::string(100, 'p'), std::string(64, 'n')};
    EXPECT_LE(blob_of(deep, {record_kind::lease, std::string(512, 'k')}).size(), 1024U);
}

TEST(Metadata, BringsBackWhatItWasMadeOf) {
    for (const auto* text : {"1 lease nonce=a holder=7", "100 %", " blanks ", "two  blanks",
                             "gr\u00fc\u00dfe", "a\tb"}) {
        const auto fields = metadata_of({record_kind::lease, "a b/\xc3\xa9"}, text);
        ASSERT_EQ(fields.size(), 2U);
        EXPECT_EQ(fields[0].second, "a%20b/%C3%A9");
        EXPECT_EQ(fields[1].first, "x-ms-meta-record");
        for (const char letter : fields[1].second) EXPECT_TRUE(letter >= ' ' && letter <= '~');
        EXPECT_EQ(text_of(fields[1].second), text);
    }
    // As people read it.
    EXPECT_EQ(metadata_of({record_kind::marker, ""}, "1 lease holder=7").at(0).second,
              "1 lease holder=7");
    EXPECT_EQ(text_of(""), std::nullopt);
    EXPECT_EQ(text_of("100 %"), std::nullopt);
}

}  // namespace
}  // namespace pawl::azblob
