#include "net/https/answer_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::net {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t small = 1000;

TEST(AnswerReader, ReadsAnAnswerInAnyPieces) {
    const std::string answer =
        "HTTP/1.1 404 Not Found\r\nX-Name:  value \r\nContent-Length: 5\r\n\r\nhello";
    for (std::size_t piece = 1; piece <= answer.size(); ++piece) {
        answer_reader reader{answer_shape::bounded, small};
        for (std::size_t at = 0; at < answer.size(); at += piece) {
            EXPECT_FALSE(reader.is_whole());
            EXPECT_EQ(reader.take(answer.substr(at, piece)), "");
        }
        EXPECT_TRUE(reader.is_whole());
        EXPECT_TRUE(reader.keeps_connection());
        EXPECT_EQ(reader.status(), 404U);
        EXPECT_EQ(reader.fields().front(), std::pair(std::string{"x-name"}, std::string{"value"}));
        EXPECT_EQ(reader.take_body(), "hello");
    }
}

TEST(AnswerReader, ReadsChunks) {
    answer_reader reader{answer_shape::bounded, small};
    EXPECT_EQ(reader.take("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"), "");
    EXPECT_FALSE(reader.is_whole());
    EXPECT_EQ(reader.take("2\r\nde\r\n0\r\n\r\n"), "");
    EXPECT_TRUE(reader.is_whole());
    EXPECT_EQ(reader.take_body(), "abcde");
}

TEST(AnswerReader, AnswersThatComeBeforeTheLastAreLeftOut) {
    answer_reader reader{answer_shape::bounded, small};
    EXPECT_EQ(reader.take("HTTP/1.1 100 Continue\r\n\r\n"), "");
    EXPECT_FALSE(reader.has_head());
    EXPECT_EQ(
        reader.take("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"),
        "");
    EXPECT_TRUE(reader.is_whole());
    EXPECT_EQ(reader.status(), 204U);

    answer_reader endless{answer_shape::bounded, small};
    std::string fault;
    for (int i = 0; i < 20 && fault.empty(); ++i)
        fault = endless.take("HTTP/1.1 100 Continue\r\n\r\n");
    EXPECT_EQ(fault, "has no end of interim answers");
}

TEST(AnswerReader, AnAnswerWithoutALengthEndsWithItsConnection) {
    answer_reader reader{answer_shape::bounded, small};
    EXPECT_EQ(reader.take("HTTP/1.1 200 OK\r\n\r\nabc"), "");
    EXPECT_FALSE(reader.is_whole());
    EXPECT_EQ(reader.take_end(), "");
    EXPECT_TRUE(reader.is_whole());
    EXPECT_FALSE(reader.keeps_connection());
    EXPECT_EQ(reader.take_body(), "abc");
}

TEST(AnswerReader, TheAnswerToHeadHasNoBodyWhateverItsLength) {
    answer_reader reader{answer_shape::headless, small};
    EXPECT_EQ(reader.take("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"), "");
    EXPECT_TRUE(reader.is_whole());
    EXPECT_TRUE(reader.keeps_connection());
}

TEST(AnswerReader, WhatIsBehindAnAnswerEndsItsConnection) {
    answer_reader reader{answer_shape::bounded, small};
    EXPECT_EQ(reader.take("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab"), "");
    EXPECT_TRUE(reader.is_whole());
    EXPECT_FALSE(reader.keeps_connection());
    EXPECT_EQ(reader.take_body(), "a");
}

TEST(AnswerReader, EverythingHasABound) {
    answer_reader body{answer_shape::bounded, small};
    EXPECT_EQ(body.take("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n"),
              "has a larger body than is allowed");

    answer_reader chunks{answer_shape::bounded, small};
    EXPECT_EQ(chunks.take("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" +
                          std::string(1001, 'a')),
              "has a larger body than is allowed");

    answer_reader unended{answer_shape::bounded, small};
    EXPECT_EQ(unended.take("HTTP/1.1 200 OK\r\n\r\n" + std::string(1001, 'a')),
              "has a larger body than is allowed");

    answer_reader fields{answer_shape::bounded, small};
    std::string fault = fields.take("HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 100 && fault.empty(); ++i)
        fault = fields.take("X: " + std::string(1000, 'a') + "\r\n");
    EXPECT_THAT(fault, HasSubstr("has a head of more than 65536 bytes"));

    answer_reader line{answer_shape::bounded, small};
    fault = line.take("HTTP/1.1 200 OK\r\nX: ");
    for (int i = 0; i < 100 && fault.empty(); ++i) fault = line.take(std::string(1000, 'a'));
    EXPECT_THAT(fault, HasSubstr("has a head of more than 65536 bytes"));
}

TEST(AnswerReader, AnotherProtocolIsNoHttp) {
    for (const auto* text : {"-ERR unknown command\r\n", "SSH-2.0-OpenSSH_9.2\r\n",
                             "\x15\x03\x03\x01\x02\x02\x46", "HTTP/1.1 abc\r\n\r\n"}) {
        answer_reader reader{answer_shape::bounded, small};
        EXPECT_THAT(reader.take(text), HasSubstr("is not HTTP")) << text;
    }
}

TEST(AnswerReader, AnEndlessBodyIsTakenAsItComes) {
    answer_reader reader{answer_shape::endless, small};
    EXPECT_EQ(reader.take("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), "");
    EXPECT_TRUE(reader.has_head());
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(reader.take("3e8\r\n" + std::string(1000, 'a') + "\r\n"), "");
        EXPECT_EQ(reader.take_body().size(), 1000U);
    }
}

}  // namespace
}  // namespace pawl::net
