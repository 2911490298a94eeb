#include "http/response_head.hpp"

#include <gtest/gtest.h>

namespace pawl::http {
namespace {

TEST(ResponseHead, IsALineForTheStatusAndOneForEachField) {
    response answered{200, "text/plain", "body"};
    answered.set("X-One", "1");
    head_facts facts;
    facts.body = framing::length;
    facts.length = 4;
    facts.date = "now";
    EXPECT_EQ(head_of(answered, facts),
              "HTTP/1.1 200 OK\r\nDate: now\r\nContent-Type: text/plain\r\nX-One: 1\r\n"
              "Content-Length: 4\r\n\r\n");
}

TEST(ResponseHead, SaysHowTheBodyEndsAndWhetherTheConnectionStays) {
    const auto said = [](framing body, persistence connection) {
        head_facts facts;
        facts.body = body;
        facts.connection = connection;
        return *head_of(response{204}, facts);
    };
    EXPECT_EQ(said(framing::none, persistence::keep), "HTTP/1.1 204 No Content\r\nDate: \r\n\r\n");
    EXPECT_EQ(said(framing::chunked, persistence::keep_said),
              "HTTP/1.1 204 No Content\r\nDate: \r\nTransfer-Encoding: chunked\r\n"
              "Connection: keep-alive\r\n\r\n");
    EXPECT_EQ(said(framing::by_close, persistence::close),
              "HTTP/1.1 204 No Content\r\nDate: \r\nConnection: close\r\n\r\n");
}

// A value that came from a request must not begin a line of its own.
TEST(ResponseHead, AFieldThatWouldBreakTheMessageIsRejected) {
    for (const auto* value : {"a\r\nSet-Cookie: b", "a\n", "a\r", "\x01", "\x7f"}) {
        response answered{200};
        answered.set("X", value);
        EXPECT_EQ(head_of(answered, {}), std::nullopt);
    }
    for (const auto* name : {"", "a b", "a:", "a\r\n", "\xc3\xa4"}) {
        response answered{200};
        answered.set(name, "value");
        EXPECT_EQ(head_of(answered, {}), std::nullopt) << name;
    }
    EXPECT_EQ(head_of(response{100}, {}), std::nullopt);
    EXPECT_EQ(head_of(response{1000}, {}), std::nullopt);
}

TEST(ResponseHead, TheServersOwnFieldsAreNotTakenFromTheHandler) {
    response answered{200};
    for (const auto* name : {"content-length", "Date", "CONNECTION", "Transfer-Encoding"})
        answered.set(name, "7");
    EXPECT_EQ(head_of(answered, {}), "HTTP/1.1 200 OK\r\nDate: \r\n\r\n");
}

TEST(ResponseHead, AnUnknownStatusHasNoReason) {
    EXPECT_EQ(head_of(response{299}, {}), "HTTP/1.1 299 \r\nDate: \r\n\r\n");
}

}  // namespace
}  // namespace pawl::http
