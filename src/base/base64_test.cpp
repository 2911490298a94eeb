#include "base/base64.hpp"

#include <gtest/gtest.h>

namespace pawl::base {
namespace {

// The vectors of RFC 4648, 10.
TEST(Base64, IsAsItsStandardSays) {
    const std::pair<std::string_view, std::string_view> vectors[] = {{"", ""},
                                                                     {"f", "Zg=="},
                                                                     {"fo", "Zm8="},
                                                                     {"foo", "Zm9v"},
                                                                     {"foob", "Zm9vYg=="},
                                                                     {"fooba", "Zm9vYmE="},
                                                                     {"foobar", "Zm9vYmFy"}};
    for (const auto& [bytes, text] : vectors) {
        EXPECT_EQ(to_base64(bytes), text);
        EXPECT_EQ(from_base64(text), bytes);
    }
}

TEST(Base64, AnyByteComesBack) {
    std::string all;
    for (int value = 0; value < 256; ++value) {
        all.push_back(static_cast<char>(value));
        EXPECT_EQ(from_base64(to_base64(all)), all);
    }
}

TEST(Base64, AnyOtherTextIsNone) {
    for (const auto* text : {"Zg", "Zg=", "Zg==\n", " Zg=", "Zh==", "Zm9",
                             "Zm9v=", "====", "Z===", "Zm-_", "Zg==Zg=="})
        EXPECT_EQ(from_base64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace pawl::base
