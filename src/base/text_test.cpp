#include "base/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::base {
namespace {

using testing::HasSubstr;

TEST(Text, KeysAreUpTo512PrintableBytes) {
    EXPECT_FALSE(key_fault("job/daily report ü"));
    EXPECT_FALSE(key_fault(std::string(512, 'k')));
    EXPECT_THAT(key_fault("").value(), HasSubstr("empty"));
    EXPECT_THAT(key_fault(std::string(513, 'k')).value(), HasSubstr("513 bytes: at most 512"));
    EXPECT_THAT(key_fault("ab\tc").value(), HasSubstr("control character at byte 3"));
    EXPECT_THAT(key_fault(std::string_view{"a\0b", 3}).value(), HasSubstr("byte 2"));
    EXPECT_THAT(key_fault("a\x7f").value(), HasSubstr("byte 2"));
}

TEST(Text, NamespacesAreShortWords) {
    EXPECT_FALSE(name_space_fault("billing-eu_1.2"));
    for (const auto* bad : {"", "a/b", "a b", "a:b", "ä"})
        EXPECT_TRUE(name_space_fault(bad)) << bad;
    EXPECT_TRUE(name_space_fault(std::string(65, 'n')));
}

TEST(Text, PrintableLetsNoControlCharacterThrough) {
    EXPECT_EQ(printable("a\x1b[31mb\n"), "a?[31mb?");
    EXPECT_EQ(printable("grün"), "grün");
}

TEST(Text, NearestFindsAMisspeltWordAndNoOther) {
    EXPECT_EQ(nearest("tiemout", {"timeout", "namespace"}), "timeout");
    EXPECT_EQ(nearest("namespce", {"timeout", "namespace"}), "namespace");
    EXPECT_EQ(nearest("colour", {"timeout", "namespace"}), std::nullopt);
    EXPECT_EQ(nearest("x", {}), std::nullopt);
}

}  // namespace
}  // namespace pawl::base
