// Requests out of bytes: what is read, and what is rejected with which words.
#include "http/request_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace pawl::http {
namespace {

using state = request_reader::state;
using ::testing::HasSubstr;

constexpr request_reader::bounds small{256, 32};

const std::string chunked =
    "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    "4\r\nwiki\r\n5;name=value\r\npedia\r\n0\r\nTrailer: x\r\nAuthorization: stolen\r\n\r\n";

request_fault fault_of(std::string_view bytes) {
    request_reader reader{small};
    EXPECT_EQ(reader.feed(bytes), state::faulty) << bytes;
    if (reader.where() != state::faulty) return {0, ""};
    EXPECT_FALSE(reader.fault().detail.empty());
    EXPECT_EQ(reader.fault().detail.find('\n'), std::string::npos);
    return reader.fault();
}

std::shared_ptr<request> read(std::string_view bytes) {
    request_reader reader{small};
    EXPECT_EQ(reader.feed(bytes), state::complete) << bytes;
    if (reader.where() != state::complete) return std::make_shared<request>();
    return reader.take().made;
}

TEST(RequestReader, TakesARequestApart) {
    const auto got = read(
        "GET /api/v1/locks?prefix=a%20b&x HTTP/1.1\r\nHost: here:7295\r\n"
        "ACCEPT:  text/plain \r\nX-Empty:\r\n\r\n");
    EXPECT_EQ(got->method, "GET");
    EXPECT_EQ(got->path, "/api/v1/locks");
    EXPECT_EQ(got->query, "prefix=a%20b&x");
    EXPECT_EQ(got->find("accept"), "text/plain");
    EXPECT_EQ(got->find("host"), "here:7295");
    EXPECT_EQ(got->find("x-empty"), "");
    EXPECT_EQ(got->fields.size(), 3U);
    EXPECT_EQ(got->body, "");
}

// Wherever the network cuts it: each request is read from two parts, and byte by byte.
TEST(RequestReader, ItMakesNoDifferenceHowTheBytesArrive) {
    const std::string plain =
        "\r\nPUT /p HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world";
    for (const auto& whole : {plain, chunked}) {
        for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
            request_reader reader{small};
            reader.feed(std::string_view{whole}.substr(0, cut));
            ASSERT_EQ(reader.feed(std::string_view{whole}.substr(cut)), state::complete) << cut;
            EXPECT_EQ(reader.take().made->body, whole == plain ? "hello world" : "wikipedia");
            EXPECT_TRUE(reader.is_empty());
        }
        request_reader reader{small};
        for (std::size_t at = 0; at + 1 < whole.size(); ++at)
            ASSERT_NE(reader.feed({&whole[at], 1}), state::complete) << at;
        EXPECT_EQ(reader.feed({&whole.back(), 1}), state::complete);
    }
}

TEST(RequestReader, TrailersAreDropped) {
    const auto got = read(chunked);
    EXPECT_EQ(got->body, "wikipedia");
    EXPECT_EQ(got->find("trailer"), "");
    EXPECT_EQ(got->find("authorization"), "");
}

TEST(RequestReader, WhatFollowsARequestIsKeptForTheNext) {
    request_reader reader{small};
    const std::string one = "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab";
    EXPECT_EQ(reader.feed(one + "\r\n" + chunked + "GET /3 HT"), state::complete);
    EXPECT_EQ(reader.take().made->path, "/1");
    EXPECT_EQ(reader.feed({}), state::complete);
    EXPECT_EQ(reader.take().made->body, "wikipedia");
    EXPECT_EQ(reader.feed({}), state::head);
    EXPECT_EQ(reader.feed("TP/1.1\r\nHost: a\r\n\r\n"), state::complete);
    EXPECT_EQ(reader.take().made->path, "/3");
    EXPECT_EQ(reader.feed({}), state::between);
}

TEST(RequestReader, WhetherTheConnectionStaysIsInTheRequest) {
    const auto keeps = [](std::string_view version, std::string_view field) {
        request_reader reader{small};
        reader.feed("GET / HTTP/" + std::string{version} + "\r\nHost: a\r\n" + std::string{field} +
                    "\r\n");
        return reader.take().keeps_alive;
    };
    EXPECT_TRUE(keeps("1.1", ""));
    EXPECT_FALSE(keeps("1.1", "Connection: close\r\n"));
    EXPECT_FALSE(keeps("1.1", "Connection: TE, Close\r\n"));
    EXPECT_FALSE(keeps("1.0", ""));
    EXPECT_TRUE(keeps("1.0", "Connection: Keep-Alive\r\n"));
}

TEST(RequestReader, AnUnknownMethodIsTheHandlersBusiness) {
    EXPECT_EQ(read("BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n")->method, "BREW");
    EXPECT_EQ(read("OPTIONS /x HTTP/1.1\r\nHost: a\r\n\r\n")->method, "OPTIONS");
}

// RFC 9112, 3.2.2.
TEST(RequestReader, AnAbsoluteTargetNamesTheHostInsteadOfHost) {
    const auto got = read("GET http://other:80/p?q HTTP/1.1\r\nHost: here\r\n\r\n");
    EXPECT_EQ(got->path, "/p");
    EXPECT_EQ(got->query, "q");
    EXPECT_EQ(got->find("host"), "other:80");
    EXPECT_EQ(read("GET HTTPS://other HTTP/1.1\r\nHost: here\r\n\r\n")->path, "/");
    EXPECT_EQ(read("GET http://other?q HTTP/1.0\r\n\r\n")->query, "q");
}

TEST(RequestReader, OtherTargetsAreRejected) {
    for (const auto* target :
         {"*", "other:80", "x", "http", "https", "http:/", "http:", "ftp://a/", "http://",
          "http:///p", "http://me@host/", "/a#b", "/a\x80", "/a\"b c"}) {
        const auto fault = fault_of("GET " + std::string{target} + " HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT_EQ(fault.status, 400U) << target;
    }
}

// What two readers may understand differently.
TEST(RequestReader, NothingIsReadThatCouldBeSmuggled) {
    const std::string start = "POST / HTTP/1.1\r\nHost: a\r\n";
    for (const auto* rest :
         {"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
          "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
          "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
          "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
          "Content-Length: 3, 3\r\n\r\nabc",
          "Content-Length: +3\r\n\r\nabc",
          "Content-Length: -3\r\n\r\nabc",
          "Content-Length: 0x3\r\n\r\nabc",
          "Content-Length: 3 \t3\r\n\r\nabc",
          "Content-Length:\r\n\r\n",
          "Content-Length: 99999999999999999999\r\n\r\n",
          "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
          "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
          "Transfer-Encoding: identity\r\n\r\n",
          "Transfer-Encoding: xchunked\r\n\r\n",
          "Transfer-Encoding:\vchunked\r\n\r\n0\r\n\r\n",
          "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
          "Transfer-Encoding\r\n : chunked\r\n\r\n",
          "X: a\r\n b\r\n\r\n",
          "X: a\r\n\tb\r\n\r\n",
          " X: a\r\n\r\n",
          "X: a\rY: b\r\n\r\n",
          "X: a\nY: b\r\n\r\n",
          "X: a\r\n\n",
          "X\r\n\r\n",
          ": a\r\n\r\n",
          "X Y: a\r\n\r\n",
          "X: a\x01\r\n\r\n",
          "X: a\x7f\r\n\r\n",
          "Host: b\r\n\r\n"}) {
        EXPECT_EQ(fault_of(start + rest).status, 400U) << rest;
    }
    EXPECT_EQ(fault_of(start + std::string{"X: a\0b\r\n\r\n", 10}).status, 400U);
}

TEST(RequestReader, ChunksAreTakenByTheLetter) {
    const std::string start = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const auto* rest :
         {"0x3\r\nabc\r\n0\r\n\r\n", "-3\r\nabc\r\n0\r\n\r\n", "+3\r\nabc\r\n0\r\n\r\n",
          " 3\r\nabc\r\n0\r\n\r\n", "\r\n\r\n", "g\r\n\r\n", "3\nabc\r\n0\r\n\r\n",
          "3\r\nabcd\r\n0\r\n\r\n", "3\r\nabc0\r\n\r\n", "3\r\nabc\n0\r\n\r\n",
          "3\rX\nabc\r\n0\r\n\r\n", "0\r\nTrailer : x\r\n\r\n"}) {
        EXPECT_EQ(fault_of(start + rest).status, 400U) << rest;
    }
    EXPECT_EQ(fault_of(start + "3;" + std::string(400, 'x')).status, 400U);
    EXPECT_EQ(fault_of(start + "0\r\nX: " + std::string(400, 'x')).status, 400U);
    std::string trailers;
    for (int i = 0; i < 100; ++i) trailers += "X: y\r\n";
    EXPECT_EQ(fault_of(start + "0\r\n" + trailers).status, 400U);
    EXPECT_EQ(fault_of(start + "11111111111111111\r\nabc\r\n").status, 413U);
    // Extensions are not read, whatever they hold.
    EXPECT_EQ(read(start + "3 ; q=\"x\r\nabc\r\n0;\r\n\r\n")->body, "abc");
}

TEST(RequestReader, ARequestLineHasThreeWordsAndAVersionOfOne) {
    EXPECT_EQ(fault_of("GET /\r\nHost: a\r\n\r\n").status, 400U);
    EXPECT_EQ(fault_of("GET  / HTTP/1.1\r\nHost: a\r\n\r\n").status, 400U);
    EXPECT_EQ(fault_of("GET / HTTQ/1.1\r\nHost: a\r\n\r\n").status, 400U);
    EXPECT_EQ(fault_of("GET / HTTP/1.1 \r\nHost: a\r\n\r\n").status, 400U);
    EXPECT_EQ(fault_of("G{T / HTTP/1.1\r\nHost: a\r\n\r\n").status, 400U);
    EXPECT_EQ(fault_of(" GET / HTTP/1.1\r\nHost: a\r\n\r\n").status, 400U);
    // Too short for Beast to judge, though nothing more can come.
    for (const auto* line :
         {"GET / H", "GET / HTTP/1", "GET / HTTP/1.", "GET /", "GET", "G", "GET / "})
        EXPECT_EQ(fault_of(std::string{line} + "\r\n\r\n").status, 400U) << line;
    EXPECT_EQ(fault_of("PRI * HTTP/2.0\r\n\r\n").status, 505U);
    EXPECT_EQ(fault_of("GET / HTTP/3.0\r\n\r\n").status, 505U);
    EXPECT_THAT(fault_of("GET / HTTP/2.0\r\n\r\n").detail, HasSubstr("1.1"));
}

TEST(RequestReader, Http11WantsOneHostAndHttp10None) {
    EXPECT_THAT(fault_of("GET / HTTP/1.1\r\n\r\n").detail, HasSubstr("Host"));
    for (const auto* host : {"a/b", "a b", "me@a", "a,b", "a?b"})
        EXPECT_THAT(fault_of("GET / HTTP/1.1\r\nHost: " + std::string{host} + "\r\n\r\n").detail,
                    HasSubstr("Host"));
    for (const auto* host : {"a", "a:1", "[::1]:7295", "", "xn--a-b.example"})
        read("GET / HTTP/1.1\r\nHost: " + std::string{host} + "\r\n\r\n");
    EXPECT_EQ(read("GET / HTTP/1.0\r\n\r\n")->path, "/");
    EXPECT_EQ(fault_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").status,
              400U);
}

// A binary protocol, such as TLS on a plain port, is rejected before its bytes look like a head.
TEST(RequestReader, WhatIsNoHttpIsRejectedAtItsFirstByte) {
    EXPECT_EQ(fault_of(std::string_view{"\x16\x03\x01", 3}).status, 400U);
    EXPECT_EQ(fault_of(std::string_view{"\0", 1}).status, 400U);
    EXPECT_EQ(fault_of("GET / HTTP/1.1\n").status, 400U);
}

TEST(RequestReader, AHeadOfAsManyBytesAsAllowedIsTakenAndOneMoreIsNot) {
    const std::string start = "GET / HTTP/1.1\r\nHost: a\r\nX: ", end = "\r\n\r\n";
    const auto filling = small.head_bytes_max - start.size() - end.size();
    read(start + std::string(filling, 'x') + end);
    const auto fault = fault_of(start + std::string(filling + 1, 'x') + end);
    EXPECT_EQ(fault.status, 431U);
    EXPECT_THAT(fault.detail, HasSubstr("256"));
    // Also while its end is not in sight.
    EXPECT_EQ(fault_of("GET /" + std::string(300, 'x')).status, 431U);
}

std::string head_with_fields(std::size_t count) {
    std::string head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n";
    for (std::size_t i = 2; i < count; ++i) head += "a:\r\n";
    return head + "\r\n";
}

TEST(RequestReader, AHeadOfAsManyFieldsAsAllowedIsTakenAndOneMoreIsNot) {
    constexpr request_reader::bounds bounds{16 * 1024, 32, 100};
    request_reader enough{bounds};
    EXPECT_EQ(enough.feed(head_with_fields(100)), state::body);
    request_reader more{bounds};
    EXPECT_EQ(more.feed(head_with_fields(101)), state::faulty);
    EXPECT_EQ(more.fault().status, 431U);
    EXPECT_THAT(more.fault().detail, HasSubstr("more than 100 header fields"));
}

// Five bytes on the wire are a field of two strings in memory.
TEST(RequestReader, WhatItHoldsCountsTheFieldsOfTheHead) {
    request_reader reader{{16 * 1024, 32, 100}};
    EXPECT_EQ(reader.feed(head_with_fields(100)), state::body);
    EXPECT_GE(reader.bytes_held(), 100 * sizeof(field));
    EXPECT_EQ(reader.feed("123456789"), state::complete);
    const auto taken = reader.take();
    EXPECT_GE(taken.bytes_held, 100 * sizeof(field) + 9);
    EXPECT_LT(reader.bytes_held(), 1'000U);
}

TEST(RequestReader, ABodyOfAsManyBytesAsAllowedIsTakenAndOneMoreIsNot) {
    const auto sized = [](std::size_t bytes) {
        return "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(bytes) +
               "\r\n\r\n" + std::string(bytes, 'x');
    };
    EXPECT_EQ(read(sized(small.body_bytes_max))->body.size(), small.body_bytes_max);
    // Said as soon as the head is here.
    const auto announced = sized(small.body_bytes_max + 1);
    EXPECT_EQ(fault_of(announced.substr(0, announced.find("\r\n\r\n") + 4)).status, 413U);
    const std::string start = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    const auto chunk = "10\r\n" + std::string(16, 'x') + "\r\n";
    EXPECT_EQ(read(start + chunk + chunk + "0\r\n\r\n")->body.size(), 32U);
    EXPECT_EQ(fault_of(start + chunk + chunk + "1\r\nx\r\n0\r\n\r\n").status, 413U);
    EXPECT_EQ(fault_of(start + "ffffffffffffffff\r\n").status, 413U);
}

TEST(RequestReader, AContinueIsAwaitedUntilTheBodyComes) {
    const std::string head =
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-Continue\r\n\r\n";
    request_reader reader{small};
    EXPECT_EQ(reader.feed(head), state::body);
    EXPECT_TRUE(reader.awaits_continue());
    reader.feed("a");
    EXPECT_FALSE(reader.awaits_continue());
    request_reader old{small};
    old.feed("POST / HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_FALSE(old.awaits_continue());
}

}  // namespace
}  // namespace pawl::http
