#include "engines/etcd/client/error_mapping.hpp"

#include "engines/etcd/client/probe.hpp"

#include <gtest/gtest.h>

namespace pawl::etcd {
namespace {

using namespace std::chrono_literals;

struct example {
    grpc::StatusCode code;
    const char* message;
    errc possible;  // where the request may change something
    errc none;      // and where it cannot
    remedy what;
};

// Goal: what is surely without effect is told apart from what is not. Method: the words of etcd
// 3.4, and of gRPC.
TEST(EtcdRejections, SayWhatACallerCanDo) {
    using grpc::StatusCode;
    const example examples[] = {
        {StatusCode::UNAVAILABLE, "etcdserver: no leader", errc::unreachable, errc::unreachable,
         remedy::ask_again},
        {StatusCode::UNAVAILABLE, "failed to connect to all addresses; last error: UNKNOWN",
         errc::unreachable, errc::unreachable, remedy::ask_again},
        {StatusCode::RESOURCE_EXHAUSTED, "etcdserver: too many requests", errc::unreachable,
         errc::unreachable, remedy::ask_again},
        {StatusCode::UNAVAILABLE, "etcdserver: request timed out, possibly due to connection lost",
         errc::outcome_unknown, errc::unreachable, remedy::other_node},
        {StatusCode::UNAVAILABLE, "etcdserver: leader changed", errc::outcome_unknown,
         errc::unreachable, remedy::other_node},
        {StatusCode::UNAVAILABLE, "Socket closed", errc::outcome_unknown, errc::unreachable,
         remedy::other_node},
        {StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded", errc::outcome_unknown,
         errc::unreachable, remedy::other_node},
        {StatusCode::PERMISSION_DENIED, "etcdserver: permission denied", errc::denied, errc::denied,
         remedy::tell},
        {StatusCode::INVALID_ARGUMENT,
         "etcdserver: authentication failed, invalid user ID or password", errc::denied,
         errc::denied, remedy::tell},
        {StatusCode::INVALID_ARGUMENT, "etcdserver: user name is empty", errc::denied, errc::denied,
         remedy::tell},
        {StatusCode::UNAUTHENTICATED, "etcdserver: invalid auth token", errc::unreachable,
         errc::unreachable, remedy::log_in},
        {StatusCode::RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded",
         errc::rejected, errc::rejected, remedy::tell},
        {StatusCode::DATA_LOSS, "etcdserver: corrupt cluster", errc::rejected, errc::rejected,
         remedy::tell},
        {StatusCode::INVALID_ARGUMENT, "etcdserver: duplicate key given in txn request",
         errc::rejected, errc::rejected, remedy::tell},
        {StatusCode::UNIMPLEMENTED, "unknown service etcdserverpb.KV", errc::unsupported,
         errc::unsupported, remedy::tell},
        // Of the transport, and as likely after a write was applied as before.
        {StatusCode::INTERNAL, "Received RST_STREAM with error code 2", errc::outcome_unknown,
         errc::protocol, remedy::other_node},
        {StatusCode::RESOURCE_EXHAUSTED, "Received message larger than max", errc::outcome_unknown,
         errc::rejected, remedy::tell},
        {StatusCode::DATA_LOSS, "corrupted frame received", errc::outcome_unknown, errc::rejected,
         remedy::tell},
    };
    for (const auto& each : examples) {
        const grpc::Status status{each.code, each.message};
        const auto changing = explain_rejection("h:1", status, effect::possible, "2s");
        EXPECT_EQ(name_of(changing.why.code), name_of(each.possible)) << each.message;
        EXPECT_EQ(changing.what, each.what) << each.message;
        const auto reading = explain_rejection("h:1", status, effect::none, "2s");
        EXPECT_EQ(name_of(reading.why.code), name_of(each.none)) << each.message;
        EXPECT_TRUE(reading.why.detail.starts_with("h:1: ")) << reading.why.detail;
    }
}

TEST(EtcdRejections, AreOneLineHoweverLong) {
    const grpc::Status status{grpc::StatusCode::UNKNOWN, "two\nlines " + std::string(5000, 'x')};
    const auto told = explain_rejection("h:1", status, effect::possible, "2s").why.detail;
    EXPECT_EQ(told.find('\n'), std::string::npos);
    EXPECT_LT(told.size(), 400u);
}

// Goal: an answer that cannot be read says nothing of whether the write that it is for has
// happened.
TEST(EtcdRejections, AnUnreadableAnswerToAWriteIsAnUnknownOutcome) {
    const auto written = unreadable_answer("h:1", "/etcdserverpb.KV/Txn", effect::possible);
    EXPECT_EQ(name_of(written.code), name_of(errc::outcome_unknown));
    const auto read = unreadable_answer("h:1", "/etcdserverpb.KV/Txn", effect::none);
    EXPECT_EQ(name_of(read.code), name_of(errc::protocol));
    EXPECT_EQ(written.detail, read.detail);
    EXPECT_TRUE(read.detail.starts_with("h:1 does not speak etcd's protocol")) << read.detail;
}

TEST(EtcdRejections, AMissingLeaseIsKnownByItsWords) {
    const grpc::Status status{grpc::StatusCode::NOT_FOUND, "etcdserver: requested lease not found"};
    EXPECT_TRUE(is_lease_missing(explain_rejection("h", status, effect::possible, "").why));
    const grpc::Status other{grpc::StatusCode::NOT_FOUND, "etcdserver: key not found"};
    EXPECT_FALSE(is_lease_missing(explain_rejection("h", other, effect::possible, "").why));
}

// ---- GET /version

constexpr std::string_view version_text =
    "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nContent-Type: application/json\r\n"
    "DATE: Sat, 21 Nov 2026 18:42:14 GMT\r\nContent-Length: 45\r\n\r\n"
    "{\"etcdserver\":\"3.4.23\",\"etcdcluster\":\"3.4.0\"}";

TEST(EtcdProbe, ReadsTheVersionAndTheDate) {
    const auto read = parse_version_answer(version_text);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->version, "3.4.23");
    EXPECT_EQ(read->date.count(), 1795286534);
}

TEST(EtcdProbe, AnythingElseIsNoEtcd) {
    for (const auto* text :
         {"", "HTTP/1.1 404 Not Found\r\nDate: Sat, 21 Nov 2026 18:42:14 GMT\r\n\r\n{}",
          "HTTP/1.1 200 OK\r\n\r\n{\"etcdserver\":\"3.4.23\"}",
          "HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 18:42:14 GMT\r\n\r\n<html>",
          "HTTP/1.1 200 OK\r\nDate: tomorrow\r\n\r\n{\"etcdserver\":\"3.4.23\"}",
          "HTTP/1.1 200 OK\r\nDate: Sat, 99 Nov 2026 18:42:14 GMT\r\n\r\n{\"etcdserver\":\"3\"}"})
        EXPECT_FALSE(parse_version_answer(text)) << text;
}

// Goal: the clock lies between what a reading says. Method: a date of whole seconds, an answer that
// took 20 ms, and a look 5 s later.
TEST(EtcdProbe, AReadingOfTheClockIsAnInterval) {
    const instant sent{100s}, received{100s + 20ms}, now{105s + 20ms};
    const clock_reading read{1000s, sent, received};
    EXPECT_EQ(read.earliest(now), micros{1005s});
    EXPECT_EQ(read.latest(now), micros{1006s + 20ms});
    const clock_reading slow{1000s, sent, instant{103s}};
    EXPECT_EQ(slow.latest(instant{103s}) - slow.earliest(instant{103s}), reading_width_max);
    EXPECT_GE(read.likely(now), read.earliest(now));
    EXPECT_LE(read.likely(now), read.latest(now));
}

}  // namespace
}  // namespace pawl::etcd
