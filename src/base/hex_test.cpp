#include "base/hex.hpp"
#include "base/digest.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace pawl::base {
namespace {

TEST(Hex, EveryByteHasTwoDigitsInLowerCase) {
    EXPECT_EQ(to_hex(""), "");
    EXPECT_EQ(to_hex(std::string_view{"\0\x0f\xf0\xff k", 6}), "000ff0ff206b");
    EXPECT_EQ(to_hex(std::array<unsigned char, 2>{0xab, 0x09}), "ab09");
    std::string text = "x";
    add_hex(text, 0xab, hex_case::upper);
    EXPECT_EQ(text, "xAB");
}

TEST(Hex, OnlyWhatWasWrittenIsRead) {
    for (int byte = 0; byte < 256; ++byte) {
        const std::string bytes(3, static_cast<char>(byte));
        EXPECT_EQ(from_hex(to_hex(bytes)), bytes);
    }
    EXPECT_EQ(from_hex(""), "");
    for (const auto* text : {"a", "abc", "AB", "0g", "g0", " 0", "0x", "-1"})
        EXPECT_EQ(from_hex(text), std::nullopt) << text;
}

TEST(Hex, ADigitIsOfEitherCase) {
    EXPECT_EQ(hex_value('0'), 0);
    EXPECT_EQ(hex_value('9'), 9);
    EXPECT_EQ(hex_value('a'), 10);
    EXPECT_EQ(hex_value('F'), 15);
    for (const char other : {'g', 'G', '/', ':', '@', '`', ' ', '\0', '\xff'})
        EXPECT_EQ(hex_value(other), -1) << other;
}

// Source: FIPS 180-4, examples of "abc".
TEST(Digest, IsTheStandardsOwn) {
    EXPECT_EQ(sha256_hex("abc"),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
    // Of RFC 1321.
    EXPECT_EQ(md5_hex("abc"), "900150983cd24fb0d6963f7d28e17f72");
}

}  // namespace
}  // namespace pawl::base
