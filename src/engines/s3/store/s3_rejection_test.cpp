// The ways in which a server turns the store away, or is not what it should be: one clear line
// each. The server is a small one that answers as S3 does.
#include "engines/s3/store/s3_fixture.hpp"
#include "test_support/conformance/https_rejections.hpp"

#include <gmock/gmock.h>

namespace pawl::s3 {
namespace {

using namespace net;
using conformance::expect_failure;
using conformance::store_opener;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr auto* date = "Date: Sun, 01 Nov 2026 00:00:00 GMT\r\n";

std::string rejected(const std::string& status, const std::string& code,
                     const std::string& more = "", const std::string& fields = "") {
    const auto body = R"(<?xml version="1.0" encoding="UTF-8"?><Error><Code>)" + code +
                      "</Code><Message>words</Message>" + more + "</Error>";
    return "HTTP/1.1 " + status + "\r\n" + date + fields +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

small_server::script always(const std::string& answer) {
    return [answer](const std::string&, int) { return said{answer}; };
}

store_opener opener(std::uint16_t port) {
    auto settings = on_port(port);
    settings.service.keys.keys = {"AKID", "top secret", "session secret"};
    return [settings](loop& where) { return make_s3_store(where, settings); };
}

void expect_rejection(const std::string& answer, errc code, const std::string& words) {
    const small_server server{always(answer)};
    conformance::expect_rejection(opener(server.port()), code, words);
}

TEST(S3Rejections, ABucketThatIsNotThereIsAskedForInOneLine) {
    expect_rejection(rejected("404 Not Found", "NoSuchBucket"), errc::rejected,
                     "there is no bucket 'pawl-test'; create it, in region 'us-east-1'");
}

TEST(S3Rejections, ABucketOfAnotherRegionSaysWhereItIs) {
    constexpr auto* words = "the bucket is not in region 'us-east-1'; expected region=eu-west-1";
    expect_rejection(rejected("301 Moved Permanently", "PermanentRedirect", "",
                              "x-amz-bucket-region: eu-west-1\r\n"),
                     errc::rejected, words);
    expect_rejection(
        rejected("400 Bad Request", "AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>"),
        errc::rejected, words);
}

TEST(S3Rejections, KeysThatAreWrongAreDenied) {
    for (const auto* code : {"AccessDenied", "InvalidAccessKeyId"})
        expect_rejection(rejected("403 Forbidden", code), errc::denied, code);
    // What was signed has the keys' session in it.
    expect_rejection(rejected("403 Forbidden", "SignatureDoesNotMatch",
                              "<CanonicalRequest>x-amz-security-token:session secret"
                              "</CanonicalRequest>"),
                     errc::denied, "SignatureDoesNotMatch");
}

TEST(S3Rejections, WhereNoKeysAreFoundNothingIsAsked) {
    conformance::expect_nothing_asked(
        [](std::uint16_t port) -> store_opener {
            auto settings = on_port(port);
            settings.service.keys = {};
            return [settings](loop& where) { return make_s3_store(where, settings); };
        },
        "no credentials of AWS");
}

TEST(S3Rejections, SomethingElseOnThePortIsNoS3) {
    conformance::expect_strangers_rejected(opener, "S3", ": an object without ETag");
}

// The medium alone, which the core asks: what becomes of one request.
class S3Medium : public net::HttpsTest {
protected:
    static std::shared_ptr<cas::medium> open(net::loop& where, std::uint16_t port) {
        return make_s3_medium(where, on_port(port));
    }
    result<cas::write_answer> write(const small_server& to, const cas::version& expected = {},
                                    const std::string& key = "key") {
        cas::change wanted{{cas::record_kind::lease, key}, "text", expected};
        return loop_.wait_for(open(loop_, to.port())->write(std::move(wanted), later()));
    }
    result<cas::seen> read(const small_server& from) {
        cas::record_name name{cas::record_kind::lease, "key"};
        return loop_.wait_for(open(loop_, from.port())->read(std::move(name), later()));
    }
};

TEST_F(S3Medium, AServerThatFailsMayHaveWritten) {
    small_server server{always(rejected("500 Internal Server Error", "InternalError"))};
    expect_failure(write(server), errc::outcome_unknown, "InternalError");
    expect_failure(read(server), errc::unreachable, "InternalError");
    EXPECT_EQ(server.requests().size(), 2U);
    small_server mute{always("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")};
    expect_failure(write(mute), errc::outcome_unknown, "a write without ETag");
}

// AWS says so before anything is done; other servers when a part of their disks has the object.
TEST_F(S3Medium, AServerThatIsOverloadedMayHaveWritten) {
    for (const std::string code : {"SlowDown", "RequestTimeout"}) {
        small_server server{always(rejected("503 Service Unavailable", code))};
        expect_failure(write(server), errc::outcome_unknown, code);
        expect_failure(read(server), errc::unreachable, code);
    }
    small_server throttled{always(rejected("429 Too Many Requests", "TooManyRequests"))};
    expect_failure(write(throttled), errc::unreachable, "TooManyRequests");
}

TEST_F(S3Medium, AConditionThatDoesNotHoldIsAConflict) {
    for (const auto& answer : {rejected("412 Precondition Failed", "PreconditionFailed"),
                               rejected("409 Conflict", "ConditionalRequestConflict"),
                               rejected("404 Not Found", "NoSuchKey")}) {
        small_server server{always(answer)};
        const auto got = write(server, "\"v1\"");
        ASSERT_TRUE(got.has_value()) << got.error().detail;
        EXPECT_TRUE(std::get<cas::conflict>(*got).clock.has_value());
    }
    small_server other{always(rejected("409 Conflict", "BucketNotEmpty"))};
    expect_failure(write(other), errc::rejected, "BucketNotEmpty");
}

TEST_F(S3Medium, RequestsCarryTheConditionAndTheDigestOfTheBody) {
    small_server server{always(ok("", "ETag: \"v2\"\r\n"))};
    EXPECT_TRUE(write(server).has_value());
    EXPECT_TRUE(write(server, "\"v1\"", "a b/\xc3\xa9").has_value());
    const auto asked = server.requests();
    EXPECT_THAT(asked[0], HasSubstr("PUT /pawl-test/leases-of/tests/pawl/leases/key%21 HTTP"));
    EXPECT_THAT(asked[0], HasSubstr("If-None-Match: *\r\n"));
    EXPECT_THAT(asked[0], HasSubstr("X-Amz-Content-Sha256: 982d9e3eb996f559e633f4d194def3761d909f5a"
                                    "3b647d1a851fead67c32c9d1\r\n"));
    EXPECT_THAT(asked[1], HasSubstr("/leases/a%2120b/~c3~a9%21 HTTP"));
    EXPECT_THAT(asked[1], HasSubstr("If-Match: \"v1\"\r\n"));
}

// By a part of the host's name the path has the object alone.
TEST_F(S3Medium, TheBucketIsAPartOfTheHostOrOfThePath) {
    small_server server{always(ok("<ListBucketResult></ListBucketResult>"))};
    for (const auto how : {addressing::path, addressing::virtual_host}) {
        auto settings = on_port(server.port());
        settings.how = how;
        const auto on = make_s3_medium(loop_, settings);
        EXPECT_TRUE(loop_.wait_for(on->list({cas::record_kind::fence, "a/", "a/b", 7}, later()))
                        .has_value());
        cas::record_name name{cas::record_kind::marker, ""};
        EXPECT_TRUE(loop_.wait_for(on->read(std::move(name), later())).has_error());
    }
    const auto asked = server.requests();
    constexpr auto* query =
        "?list-type=2&max-keys=7&prefix=leases-of%2Ftests%2Fpawl%2Ffences%2Fa%2F"
        "&start-after=leases-of%2Ftests%2Fpawl%2Ffences%2Fa%2Fb%21 HTTP";
    EXPECT_THAT(asked[0], StartsWith(std::string{"GET /pawl-test"} + query));
    EXPECT_THAT(asked[1], StartsWith("GET /pawl-test/leases-of/tests/pawl/marker HTTP"));
    EXPECT_THAT(asked[2], StartsWith(std::string{"GET /"} + query));
    EXPECT_THAT(asked[3], StartsWith("GET /leases-of/tests/pawl/marker HTTP"));
}

TEST_F(S3Medium, AKeyWhoseNameIsTooLongIsRejectedAndNothingIsAsked) {
    small_server server{always(ok(""))};
    std::string key;
    while (key.size() < 512) key += "\xc3\xa9";
    expect_failure(write(server, {}, key), errc::rejected, "bytes; expected at most 1024");
    EXPECT_EQ(server.connections(), 0);
}

// Goal: one state is never taken together with the version of another. Method: the first answer
// beside a write is torn; the next is whole.
TEST_F(S3Medium, AnAnswerWhoseEtagIsOfAnotherStateIsReadAgain) {
    const std::string etag = "ETag: \"1cb251ec0d568de6a929b520c4aed8d1\"\r\n";  // of "text"
    std::atomic<int> asked = 0;
    small_server server{
        [&](const std::string&, int) { return said{ok(asked++ == 0 ? "before" : "text", etag)}; }};
    EXPECT_EQ(read(server).value().text, "text");
    EXPECT_EQ(asked, 2);
    small_server torn{always(ok("before", etag))};
    expect_failure(read(torn), errc::unreachable, "the ETag of an object is not the MD5");
    // It is no digest then.
    small_server encrypted{
        always(ok("before", etag + "x-amz-server-side-encryption: aws:kms\r\n"))};
    EXPECT_EQ(read(encrypted).value().text, "before");
    small_server other{always(ok("before", "ETag: \"SHA256-abc\"\r\n"))};
    EXPECT_EQ(read(other).value().at, "\"SHA256-abc\"");
}

// Goal: an object that cannot be read, as one that was archived, hides no other. Method: a list of
// three, of which one is; and a server that is away fails the list.
TEST_F(S3Medium, AnObjectThatCannotBeReadHidesNoOther) {
    std::string of_b = rejected("403 Forbidden", "InvalidObjectState");
    small_server server{[&](const std::string& request, int) {
        if (request.find("?list-type=2") != std::string::npos) {
            std::string names;
            for (const auto* key : {"a", "b", "c"})
                names += "<Contents><Key>leases-of/tests/pawl/leases/" + std::string{key} +
                         "!</Key></Contents>";
            return said{ok("<ListBucketResult>" + names + "</ListBucketResult>")};
        }
        if (request.find("/leases/b%21 ") != std::string::npos) return said{of_b};
        return said{ok("text", "ETag: \"SHA256-abc\"\r\n")};
    }};
    const auto on = make_s3_medium(loop_, on_port(server.port()));
    const auto list = [&] {
        return loop_.wait_for(on->list({cas::record_kind::lease, "", "", 10}, later()));
    };
    const auto all = list();
    ASSERT_TRUE(all.has_value()) << all.error().detail;
    ASSERT_EQ(all->records.size(), 3U);
    EXPECT_EQ(all->records[0].second.text, "text");
    EXPECT_EQ(all->records[1].first, "b");
    EXPECT_EQ(all->records[1].second.text, "");
    EXPECT_EQ(all->records[2].second.text, "text");
    of_b = rejected("503 Service Unavailable", "SlowDown");
    expect_failure(list(), errc::unreachable, "SlowDown");
}

// What deletes records, or keeps all of them, is worth a warning.
TEST_F(S3Medium, TheDoctorReadsTheRulesOfTheBucket) {
    std::string versioning, lifecycle;
    small_server server{[&](const std::string& request, int) {
        if (request.find("?versioning") != std::string::npos) return said{versioning};
        if (request.find("?lifecycle") != std::string::npos) return said{lifecycle};
        return said{ok("<ListBucketResult></ListBucketResult>", "Server: AmazonS3\r\n")};
    }};
    const auto levels = [&] {
        const auto found = loop_.wait_for(open(loop_, server.port())->examine(later())).value();
        EXPECT_EQ(found.version, "Amazon S3");
        std::map<std::string, severity> made;
        for (const auto& one : found.findings) made[one.check] = one.level;
        return std::pair{made.at("versioning"), made.at("persistence")};
    };
    const auto rule = [](const std::string& status, const std::string& action) {
        return ok("<LifecycleConfiguration><Rule><ID>a</ID>" + action + "<Status>" + status +
                  "</Status></Rule></LifecycleConfiguration>");
    };
    versioning = ok("<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>");
    lifecycle = rule("Enabled", "<Expiration><Days>1</Days></Expiration>");
    EXPECT_EQ(levels(), std::pair(severity::warn, severity::warn));
    versioning = rejected("403 Forbidden", "AccessDenied");
    lifecycle = rejected("403 Forbidden", "AccessDenied");
    EXPECT_EQ(levels(), std::pair(severity::warn, severity::warn));
    versioning = ok("<VersioningConfiguration/>");
    lifecycle = rule("Disabled", "<Expiration><Days>1</Days></Expiration>");
    EXPECT_EQ(levels(), std::pair(severity::ok, severity::ok));
    lifecycle = rule("Enabled",
                     "<NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays>"
                     "</NoncurrentVersionExpiration>");
    EXPECT_EQ(levels(), std::pair(severity::ok, severity::ok));
    versioning = rejected("501 Not Implemented", "NotImplemented");
    lifecycle = rejected("404 Not Found", "NoSuchLifecycleConfiguration");
    EXPECT_EQ(levels(), std::pair(severity::ok, severity::ok));
}

TEST_F(S3Medium, AListThatDoesNotContinueEnds) {
    const auto list = [&](const std::string& xml) {
        small_server server{always(ok(xml))};
        return loop_.wait_for(
            open(loop_, server.port())->list({cas::record_kind::lease, "", "", 10}, later()));
    };
    expect_failure(list("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"),
                   errc::protocol, "does not advance");
    expect_failure(list("<html></html>"), errc::protocol, "a list without its names");
}

}  // namespace
}  // namespace pawl::s3
