#include "base/percent.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <string>

namespace pawl::base {
namespace {

// Goal: no byte of a key or a cursor can end a segment, a query or a head.
TEST(Percent, EveryByteButTheUnreservedIsEncoded) {
    EXPECT_EQ(percent_encode("aZ09-._~"), "aZ09-._~");
    EXPECT_EQ(percent_encode("job/a b&c=%\r\n?#\xC3\xA9"),
              "job%2Fa%20b%26c%3D%25%0D%0A%3F%23%C3%A9");
    for (int byte = 0; byte < 256; ++byte)
        for (const char letter : percent_encode(std::string(1, static_cast<char>(byte))))
            EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
                        std::string_view{"-._~%"}.find(letter) != std::string_view::npos);
}

TEST(Percent, TheCallerSaysWhatIsKeptAndInWhichCase) {
    const auto keeps = [](char letter) { return letter == '/' || letter == 'a'; };
    EXPECT_EQ(percent_encode("/a?~", keeps), "/a%3F%7E");
    EXPECT_EQ(percent_encode("/a?~", keeps, hex_case::lower), "/a%3f%7e");
}

TEST(Percent, WhatIsEncodedIsDecodedToTheSame) {
    for (int byte = 0; byte < 256; ++byte) {
        const auto text = "a" + std::string(2, static_cast<char>(byte));
        EXPECT_EQ(percent_decode(percent_encode(text)).value(), text);
    }
    EXPECT_EQ(percent_decode("a%2fb%2Fc+d").value(), "a/b/c+d");
    EXPECT_EQ(percent_decode("%00%ff").value(), std::string("\0\xff", 2));
}

TEST(Percent, ABrokenEscapeIsToldByItsPlace) {
    for (const auto* text : {"%", "%1", "%g0", "%0g", "% 1", "%%41", "%-1"}) {
        const auto decoded = percent_decode("a%20b" + std::string{text});
        ASSERT_TRUE(decoded.has_error()) << text;
        EXPECT_EQ(decoded.error().column, 5U) << text;
    }
}

}  // namespace
}  // namespace pawl::base
