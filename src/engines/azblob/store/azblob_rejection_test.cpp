// The ways in which a service turns the store away, or is not what it should be: one clear line
// each. The service is a small server that answers as Azure does.
#include "engines/azblob/store/azblob_fixture.hpp"
#include "engines/azblob/store/names.hpp"
#include "test_support/conformance/https_rejections.hpp"

#include <gmock/gmock.h>

namespace pawl::azblob {
namespace {

using namespace net;
using conformance::expect_failure;
using conformance::store_opener;
using ::testing::HasSubstr;

constexpr auto* date = "Date: Sun, 01 Nov 2026 00:00:00 GMT\r\nx-ms-request-id: 1\r\n";

std::string rejected(const std::string& status, const std::string& code,
                     const std::string& message = "words") {
    const auto body = "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>" + message +
                      "\nRequestId:1</Message></Error>";
    return "HTTP/1.1 " + status + "\r\n" + date + "x-ms-error-code: " + code +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// The same as HEAD is answered: without what the length tells of.
std::string headless(const std::string& answer) {
    return answer.substr(0, answer.find("\r\n\r\n") + 4);
}

// Answers by what a request begins with, such as "PUT /devstoreaccount1/"; the others fail the
// test.
small_server::script answering(std::vector<std::pair<std::string, std::string>> answers) {
    return [answers = std::move(answers)](const std::string& request, int) {
        for (const auto& [begin, answer] : answers)
            if (request.starts_with(begin))
                return said{request.starts_with("HEAD ") ? headless(answer) : answer};
        ADD_FAILURE() << request;
        return said{rejected("400 Bad Request", "InvalidUri")};
    };
}

azblob_settings on(std::uint16_t port) {
    auto settings = on_port(port);
    settings.service.keys.key = "c2VjcmV0";  // "secret"
    return settings;
}

store_opener opener(const azblob_settings& to) {
    return [to](loop& where) { return make_azblob_store(where, to); };
}

void expect_rejection(const small_server& server, errc code, const std::string& words) {
    conformance::expect_rejection(opener(on(server.port())), code, words);
}

constexpr auto* probe = "HEAD /devstoreaccount1/pawl-test/pawl/m ";
constexpr auto* creation = "PUT /devstoreaccount1/pawl-test?restype=container ";

// A failover to another region forgets the newest grants.
TEST(AzblobRejections, FencingIsStrictOnlyUnderQuarantine) {
    loop where;
    auto settings = on(1);
    EXPECT_FALSE(make_azblob_store(where, settings)->traits().strict_fencing);
    settings.common.quarantine = millis{60'000};
    EXPECT_TRUE(make_azblob_store(where, settings)->traits().strict_fencing);
}

TEST(AzblobRejections, AContainerThatMayNotBeMadeIsAskedForInOneLine) {
    small_server server{
        answering({{probe, rejected("404 Not Found", "ContainerNotFound")},
                   {creation, rejected("403 Forbidden", "AuthorizationPermissionMismatch")}})};
    expect_rejection(server, errc::denied,
                     "there is no container 'pawl-test', and it cannot be made");
}

TEST(AzblobRejections, CredentialsThatAreWrongAreDenied) {
    for (const auto* code : {"AuthenticationFailed", "AuthorizationFailure", "AccountIsDisabled"}) {
        small_server server{
            answering({{"HEAD ", rejected("403 Forbidden", code, "signed with secret")}})};
        expect_rejection(server, errc::denied, code);
    }
}

TEST(AzblobRejections, WhereNoCredentialsAreFoundNothingIsAsked) {
    conformance::expect_nothing_asked(
        [](std::uint16_t port) {
            auto settings = on_port(port);
            settings.service.keys = {};
            return opener(settings);
        },
        "no credentials of Azure");
}

TEST(AzblobRejections, SomethingElseOnThePortIsNoBlobStorage) {
    conformance::expect_strangers_rejected([](std::uint16_t port) { return opener(on(port)); },
                                           "Azure Blob Storage", ": another server");
}

// One that says yes to every write, whatever the condition.
TEST(AzblobRejections, AServerThatIgnoresConditionsIsRejected) {
    small_server server{[](const std::string& request, int) {
        if (request.starts_with("HEAD "))
            return said{headless(rejected("404 Not Found", "BlobNotFound"))};
        return said{ok("", std::string{date} + "ETag: \"0x1\"\r\n")};
    }};
    expect_rejection(server, errc::unsupported, "azblob://devstoreaccount1/pawl-test");
}

// The medium alone, which the core asks: what becomes of one request.
class AzblobMedium : public net::HttpsTest {
protected:
    std::shared_ptr<cas::medium> open(const small_server& server) {
        return make_azblob_medium(loop_, on(server.port()));
    }
    result<cas::write_answer> write(const std::shared_ptr<cas::medium>& to,
                                    const cas::version& expected = {}) {
        cas::change wanted{{cas::record_kind::lease, "key"}, "text", expected};
        return loop_.wait_for(to->write(std::move(wanted), later()));
    }
    result<cas::seen> read(const std::shared_ptr<cas::medium>& from) {
        cas::record_name name{cas::record_kind::lease, "key"};
        return loop_.wait_for(from->read(std::move(name), later()));
    }
};

TEST_F(AzblobMedium, AServerThatFailsOrIsBusyMayHaveWritten) {
    for (const auto* code : {"InternalError", "ServerBusy"}) {
        const auto broken = rejected("503 Service Unavailable", code);
        small_server server{answering({{"PUT ", broken}, {"HEAD ", broken}})};
        const auto medium = open(server);
        expect_failure(write(medium), errc::outcome_unknown, code);
        expect_failure(read(medium), errc::unreachable, code);
        EXPECT_EQ(server.requests().size(), 2U);
    }
}

TEST_F(AzblobMedium, AFailedConditionIsAConflict) {
    const std::pair<const char*, const char*> conflicts[] = {
        {"412 Precondition Failed", "ConditionNotMet"},
        {"409 Conflict", "BlobAlreadyExists"},
        {"404 Not Found", "BlobNotFound"}};
    for (const auto& [status, code] : conflicts) {
        small_server server{answering({{"PUT ", rejected(status, code)}})};
        const auto got = write(open(server), "0x1");
        ASSERT_TRUE(got.has_value()) << got.error().detail;
        EXPECT_TRUE(std::get<cas::conflict>(*got).clock.has_value());
        EXPECT_THAT(server.requests()[0], HasSubstr("If-Match: \"0x1\"\r\n"));
    }
}

// Azure's own leases forbid what compare and swap has to do.
TEST_F(AzblobMedium, ABlobUnderALeaseOfAzuresOwnIsRejected) {
    small_server server{
        answering({{"PUT ", rejected("412 Precondition Failed", "LeaseIdMissing")}})};
    expect_failure(write(open(server)), errc::rejected, "LeaseIdMissing");
}

TEST_F(AzblobMedium, AWriteWhoseVersionIsNotToldIsUnknown) {
    small_server server{answering({{"PUT ", ok("", date)}})};
    expect_failure(write(open(server)), errc::outcome_unknown, "without the ETag");
}

TEST_F(AzblobMedium, ABlobOfOthersIsNoRecord) {
    small_server server{answering({{"HEAD ", ok("", std::string{date} + "ETag: \"0x1\"\r\n")}})};
    expect_failure(read(open(server)), errc::rejected, "is not a record of pawl");
}

// Goal: it hides no other. Method: a list and a look at several, of which one has lost its
// metadata.
TEST_F(AzblobMedium, ABlobOfOthersHidesNoRecord) {
    const place_of_blobs place{"", "pawl"};
    const auto blob = [&](const std::string& key, const std::string& metadata) {
        return "<Blob><Name>" + blob_of(place, {cas::record_kind::lease, key}) +
               "</Name><Properties><Etag>0x1</Etag></Properties><Metadata>" + metadata +
               "</Metadata></Blob>";
    };
    const std::string record = "<record>text</record>";
    small_server server{[&](const std::string& request, int) {
        if (request.starts_with("GET "))
            return said{ok("<?xml version=\"1.0\"?><EnumerationResults><Blobs>" +
                               blob("a", record) + blob("b", "<owner>ops</owner>") +
                               blob("c", record) + "</Blobs><NextMarker /></EnumerationResults>",
                           date)};
        const bool is_b =
            request.find(blob_of(place, {cas::record_kind::lease, "b"})) != std::string::npos;
        return said{headless(ok("", std::string{date} + "ETag: \"0x1\"\r\n" +
                                        (is_b ? "" : "x-ms-meta-record: text\r\n")))};
    }};
    const auto medium = open(server);
    const auto all = loop_.wait_for(medium->list({cas::record_kind::lease, "", "", 10}, later()));
    ASSERT_TRUE(all.has_value()) << all.error().detail;
    ASSERT_EQ(all->records.size(), 3U);
    EXPECT_EQ(all->records[0].second.text, "text");
    EXPECT_EQ(all->records[1].first, "b");
    EXPECT_EQ(all->records[1].second.text, "");
    EXPECT_NE(all->records[1].second.at, "") << "there is something";
    EXPECT_EQ(all->records[2].second.text, "text");
    std::vector<cas::record_name> names;
    for (const auto* key : {"a", "b", "c"}) names.emplace_back(cas::record_kind::lease, key);
    const auto many = loop_.wait_for(medium->read_many(std::move(names), later()));
    ASSERT_TRUE(many.has_value()) << many.error().detail;
    EXPECT_EQ(many->at(0).text, "text");
    EXPECT_EQ(many->at(1).text, "");
    EXPECT_EQ(many->at(2).text, "text");
}

// Goal: a container that was deleted, and made again, under a process that runs is not taken for
// the one that it knows.
TEST_F(AzblobMedium, AContainerThatWasDeletedIsNotUsed) {
    std::atomic<bool> gone = false;
    small_server server{[&](const std::string& request, int) {
        const auto answer = rejected("404 Not Found", gone ? "ContainerNotFound" : "BlobNotFound");
        return said{request.starts_with("HEAD ") ? headless(answer) : answer};
    }};
    const auto medium = open(server);
    EXPECT_EQ(loop_.wait_for(medium->prepare(later())).value(), "devstoreaccount1/pawl-test");
    EXPECT_TRUE(read(medium).has_value());
    gone = true;
    expect_failure(read(medium), errc::rejected, "the container was deleted");
    gone = false;
    expect_failure(read(medium), errc::rejected, "the container was deleted");
    expect_failure(write(medium), errc::rejected, "the container was deleted");
}

// A name is free again some time after its container was deleted.
TEST_F(AzblobMedium, AContainerThatIsBeingDeletedIsWaitedFor) {
    std::atomic<int> asked = 0, created = 0;
    small_server server{[&](const std::string& request, int) {
        if (request.starts_with("PUT ") && ++created == 1)
            return said{rejected("409 Conflict", "ContainerBeingDeleted")};
        if (request.starts_with("PUT ")) return said{ok("", date)};
        return said{headless(
            rejected("404 Not Found", ++asked <= 2 ? "ContainerNotFound" : "BlobNotFound"))};
    }};
    EXPECT_TRUE(loop_.wait_for(open(server)->prepare(later())).has_value());
    EXPECT_EQ(asked, 3);
    EXPECT_EQ(created, 2);
}

// ---- The doctor

class AzblobDoctor : public AzblobMedium {
protected:
    // What is said of one check, where the account answers so.
    finding check(const std::string& which, const std::string& account_fields,
                  const std::string& properties, const std::string& marker_fields = "") {
        small_server server{[&](const std::string& request, int) {
            const auto asks = [&](const char* what) {
                return request.substr(0, request.find('\r')).find(what) != std::string::npos;
            };
            if (asks("restype=account")) return said{ok("", account_fields)};
            if (asks("restype=service")) return said{properties};
            return said{headless(ok("", std::string{date} + marker_fields))};
        }};
        const auto medium = open(server);
        const auto found = loop_.wait_for(medium->examine(later()));
        EXPECT_TRUE(found.has_value());
        for (const auto& one : found->findings)
            if (one.check == which) return one;
        ADD_FAILURE() << "nothing is said of " << which;
        return {severity::fail, which, ""};
    }
    static std::string soft_delete(const std::string& enabled) {
        return ok(
            "<StorageServiceProperties><Logging><RetentionPolicy><Enabled>true</Enabled>"
            "</RetentionPolicy></Logging><DeleteRetentionPolicy><Enabled>" +
            enabled + "</Enabled></DeleteRetentionPolicy></StorageServiceProperties>");
    }
};

TEST_F(AzblobDoctor, WarnsOfAnAccountWhoseFailoverForgets) {
    const auto off = soft_delete("false");
    for (const auto* kept : {"Standard_GRS", "Standard_RAGRS", "Standard_GZRS"})
        EXPECT_EQ(check("replication", "x-ms-sku-name: " + std::string{kept} + "\r\n", off).level,
                  severity::warn);
    EXPECT_EQ(check("replication", "x-ms-sku-name: Standard_ZRS\r\n", off).level, severity::ok);
    EXPECT_THAT(check("replication", "", off).text, HasSubstr("may not see"));
}

TEST_F(AzblobDoctor, WarnsWhereEveryRenewalIsKept) {
    EXPECT_EQ(check("limits", "", soft_delete("true")).level, severity::warn);
    EXPECT_EQ(check("limits", "", soft_delete("false")).level, severity::ok);
    EXPECT_THAT(check("limits", "", soft_delete("false"), "x-ms-version-id: 1\r\n").text,
                HasSubstr("versioning of blobs is on"));
    EXPECT_THAT(check("limits", "", rejected("403 Forbidden", "AuthorizationFailure")).text,
                HasSubstr("may not see whether soft delete is on"));
}

}  // namespace
}  // namespace pawl::azblob
