#include "runs/unwritten_output.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl::runs {
namespace {

// Goal: it is a queue of bytes, wherever its blocks end. Method: beside a string, with pieces of
// many sizes and as much taken as added.
TEST(UnwrittenOutput, WhatIsAddedComesOutInOrder) {
    unwritten_output kept;
    std::string expected;
    std::size_t made = 0;
    for (std::size_t turn = 1; turn <= 400; ++turn) {
        std::string piece;
        for (std::size_t i = 0; i < turn * turn % 9'973 * (turn % 23); ++i)
            piece += static_cast<char>('a' + made++ % 26);
        kept.append(piece);
        expected += piece;
        ASSERT_EQ(kept.size(), expected.size());
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}})
            ASSERT_EQ(kept.front(bytes), expected.substr(0, bytes));
        const auto gone = turn * 7'919 % (expected.size() + 1);
        kept.let_go(gone);
        expected.erase(0, gone);
        ASSERT_EQ(kept.front(expected.size() + 1), expected);
    }
    EXPECT_GT(made, 1'000'000u);
    kept.let_go(kept.size());
    EXPECT_TRUE(kept.empty());
    EXPECT_EQ(kept.front(10), "");
    kept.append("more");
    EXPECT_EQ(kept.front(10), "more");
}

}  // namespace
}  // namespace pawl::runs
