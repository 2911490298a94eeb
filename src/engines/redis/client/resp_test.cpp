#include "engines/redis/client/resp.hpp"

#include <gtest/gtest.h>

namespace pawl::redis {
namespace {

reply parse_one(reply_parser& parser, std::string_view bytes) {
    parser.feed(bytes);
    auto got = parser.next();
    EXPECT_TRUE(got.has_value() && got->has_value()) << bytes;
    return got.has_value() && got->has_value() ? std::move(**got) : reply{};
}

TEST(CommandWriter, WritesAnArrayOfStrings) {
    std::string out{"before"};
    command_writer{out, 4}.add("SET").add("name:", "key").add(std::int64_t{-12}).add("");
    EXPECT_EQ(out, "before*4\r\n$3\r\nSET\r\n$8\r\nname:key\r\n$3\r\n-12\r\n$0\r\n\r\n");
}

TEST(CommandWriter, AnyByteMayStandInAPart) {
    std::string out;
    command_writer{out, 1}.add(std::string_view{"a\r\n\0b", 5});
    EXPECT_EQ(out, (std::string{"*1\r\n$5\r\na\r\n\0b\r\n", 15}));
}

TEST(ReplyParser, ReadsEveryKindOfReply) {
    reply_parser parser;
    EXPECT_EQ(parse_one(parser, "+OK\r\n").kind, reply_kind::status);
    EXPECT_EQ(parse_one(parser, ":1795184283285672\r\n").number, 1795184283285672);
    EXPECT_EQ(parse_one(parser, "$5\r\nhello\r\n").text, "hello");
    EXPECT_EQ(parse_one(parser, "$-1\r\n").kind, reply_kind::nil);
    EXPECT_EQ(parse_one(parser, "*-1\r\n").kind, reply_kind::nil);
    EXPECT_EQ(parse_one(parser, "*0\r\n").kind, reply_kind::array);
    const auto rejected = parse_one(parser, "-ERR no\r\n");
    EXPECT_TRUE(rejected.is_error());
    EXPECT_EQ(rejected.text, "ERR no");
    const auto nested = parse_one(parser, "*3\r\n:1\r\n*2\r\n$1\r\na\r\n$-1\r\n+b\r\n");
    ASSERT_EQ(nested.elements.size(), 3u);
    EXPECT_EQ(nested.elements[1].elements.at(0).text, "a");
    EXPECT_EQ(nested.elements[2].text, "b");
}

// Goal: the cuts of TCP do not matter. Method: the same stream, one byte at a time.
TEST(ReplyParser, RepliesMayArriveInAnyPieces) {
    const std::string_view stream = "*2\r\n:7\r\n$3\r\nabc\r\n:8\r\n";
    reply_parser parser;
    std::vector<reply> got;
    for (const char byte : stream) {
        parser.feed({&byte, 1});
        auto one = parser.next();
        ASSERT_TRUE(one.has_value());
        if (one->has_value()) got.push_back(std::move(**one));
    }
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(got[0].elements.at(1).text, "abc");
    EXPECT_EQ(got[1].number, 8);
}

TEST(ReplyParser, ManyRepliesMayArriveAtOnce) {
    reply_parser parser;
    parser.feed(":1\r\n:2\r\n:3\r\n");
    for (int expected = 1; expected <= 3; ++expected) {
        auto got = parser.next();
        ASSERT_TRUE(got.has_value() && got->has_value());
        EXPECT_EQ((*got)->number, expected);
    }
    EXPECT_FALSE(parser.next()->has_value());
}

TEST(ReplyParser, WhatIsNoRespIsAProtocolFailureForEver) {
    reply_parser parser;
    parser.feed("HTTP/1.1 400 Bad Request\r\n\r\n");
    ASSERT_TRUE(parser.next().has_error());
    EXPECT_EQ(parser.next().error().code, errc::protocol);
    parser.feed("+OK\r\n");
    EXPECT_TRUE(parser.next().has_error());
}

// Goal: a peer cannot make us allocate what it did not send. Method: it announces it only.
TEST(ReplyParser, AnAnnouncedArrayAboveTheBoundIsRejectedBeforeItArrives) {
    reply_parser parser{{.bytes_max = 1000, .elements_max = 100}};
    parser.feed("*101\r\n");
    ASSERT_TRUE(parser.next().has_error());
    reply_parser nested{{.bytes_max = 1000, .elements_max = 100}};
    nested.feed("*2\r\n*60\r\n");
    EXPECT_TRUE(nested.next().has_value());
    for (int i = 0; i < 60; ++i) nested.feed(":1\r\n");
    nested.feed("*60\r\n");
    EXPECT_TRUE(nested.next().has_error());
}

TEST(ReplyParser, AReplyLongerThanItsBoundIsRejectedBeforeItIsComplete) {
    reply_parser parser{{.bytes_max = 1000, .elements_max = 100}};
    parser.feed("$100000\r\n" + std::string(500, 'x'));
    EXPECT_TRUE(parser.next().has_value());
    parser.feed(std::string(1000, 'x'));
    EXPECT_TRUE(parser.next().has_error());
}

// The bounds are of one reply, not of the connection's life.
TEST(ReplyParser, BoundsStartAnewWithEveryReply) {
    reply_parser parser{{.bytes_max = 1000, .elements_max = 10}};
    for (int i = 0; i < 1000; ++i)
        EXPECT_EQ(parse_one(parser, "*6\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n").elements.size(),
                  6u);
}

}  // namespace
}  // namespace pawl::redis
