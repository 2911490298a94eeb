#include "engines/kubernetes/client/bearer.hpp"

#include "test_support/folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>

namespace pawl::kubernetes {
namespace {

using namespace std::chrono_literals;

class Bearer : public testing::Test {
protected:
    void write(const std::string& token) const { std::ofstream{file_} << token; }

    testing_files::test_folder folder_;
    const std::string file_ = (folder_.path() / "token").string();
    const instant begin_{1h};
};

TEST_F(Bearer, AFixedTokenStays) {
    bearer token{"abc", ""};
    EXPECT_EQ(*token.current(begin_), "abc");
    EXPECT_FALSE(token.is_replaced(begin_));
    bearer none{"", ""};
    EXPECT_EQ(*none.current(begin_), "");
}

TEST_F(Bearer, AFileIsReadAgainAfterAMinute) {
    write("first\n");
    bearer token{"", file_};
    EXPECT_EQ(*token.current(begin_), "first");
    write("second\n");
    EXPECT_EQ(*token.current(begin_ + 59s), "first");
    EXPECT_EQ(*token.current(begin_ + 60s), "second");
}

TEST_F(Bearer, ARejectedTokenIsLookedForAtOnce) {
    write("first");
    bearer token{"", file_};
    EXPECT_EQ(*token.current(begin_), "first");
    EXPECT_FALSE(token.is_replaced(begin_ + 1s));
    write("second");
    EXPECT_TRUE(token.is_replaced(begin_ + 2s));
    EXPECT_EQ(*token.current(begin_ + 3s), "second");
}

// A file that is being replaced may be away for a moment.
TEST_F(Bearer, WhatWasReadIsKeptWhileTheFileIsAway) {
    write("first");
    bearer token{"", file_};
    EXPECT_EQ(*token.current(begin_), "first");
    std::filesystem::remove(file_);
    EXPECT_EQ(*token.current(begin_ + 2min), "first");
}

TEST_F(Bearer, AFileThatHoldsNoTokenIsDenied) {
    bearer none{"", file_};
    const auto missing = none.current(begin_);
    ASSERT_TRUE(missing.has_error());
    EXPECT_EQ(missing.error().code, errc::denied);
    EXPECT_THAT(missing.error().detail, testing::HasSubstr(file_));
    write("two\nlines");
    EXPECT_TRUE(none.current(begin_).has_error());
    bearer odd{"a b", ""};
    EXPECT_TRUE(odd.current(begin_).has_error());
}

}  // namespace
}  // namespace pawl::kubernetes
