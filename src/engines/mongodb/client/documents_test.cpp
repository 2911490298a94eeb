#include "engines/mongodb/client/documents.hpp"

#include <gtest/gtest.h>

namespace pawl::mongodb {
namespace {

TEST(Documents, WhatIsPutInIsFoundByItsPath) {
    document made;
    made.text("name", std::string_view{"a\0b", 3}).number("n", INT64_MAX).small("limit", 7);
    made.nested("in", document{}.yes("told").no("untold"));
    made.array("all", {document{}.number("n", 1), document{}.number("n", 2)});
    made.texts("ids", {"one", "two"});
    EXPECT_EQ(made.find_text("name"), (std::string{"a\0b", 3}));
    EXPECT_EQ(made.find_number("n"), INT64_MAX);
    EXPECT_EQ(made.find_number("limit"), 7);
    EXPECT_TRUE(made.is_true("in.told"));
    EXPECT_FALSE(made.is_true("in.untold"));
    EXPECT_TRUE(made.has("in.untold"));
    ASSERT_EQ(made.find_all("all").size(), 2U);
    EXPECT_EQ(made.find_all("all")[1].find_number("n"), 2);
    EXPECT_EQ(made.find_text("ids.1"), "two");
}

TEST(Documents, WhatIsNotThereOrOfAnotherTypeIsNothing) {
    document made;
    made.text("name", "a").nested("in", document{}.number("n", 1));
    EXPECT_FALSE(made.find_text("none").has_value());
    EXPECT_FALSE(made.find_number("name").has_value());
    EXPECT_FALSE(made.find_text("in.n").has_value());
    EXPECT_FALSE(made.find_binary("name").has_value());
    EXPECT_FALSE(made.is_true("in.none"));
    EXPECT_TRUE(made.find_all("in").empty());
    EXPECT_TRUE(made.find_all("in.none").empty());
}

TEST(Documents, ACopyIsADocumentOfItsOwn) {
    document one;
    one.number("n", 1);
    document other{one};
    other.number("m", 2);
    EXPECT_FALSE(one.has("m"));
    const auto moved = std::move(other);
    EXPECT_EQ(moved.find_number("m"), 2);
    one = moved;
    EXPECT_EQ(one.find_number("m"), 2);
}

}  // namespace
}  // namespace pawl::mongodb
