// Each source of credentials, asked at a small server that answers as Azure does, and what requests
// carry then.
#include "engines/azblob/client/credentials.hpp"

#include "engines/azblob/client/service.hpp"
#include "net/https/credentials_fixture.hpp"
#include "test_support/servers/process.hpp"

#include <gmock/gmock.h>

namespace pawl::azblob {
namespace {

using namespace net;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr auto* some_key = "c2VjcmV0IGtleQ==";  // "secret key"

std::string token_document(const std::string& token, const std::string& end) {
    return R"({"token_type":"Bearer",)" + end + R"(,"access_token":")" + token + R"("})";
}

class CredentialsTest : public CredentialsTestOf<credentials, credential_settings, access> {
protected:
    credential_settings workload_of(const small_server& entra) {
        credential_settings from;
        from.identity_file = write("identity", "an.identity\n");
        from.tenant = "tenant/1";
        from.client = "client-1";
        from.authority = url_of(entra) + "/";
        return from;
    }
};

void expect_access(const result<access>& got, access::kind is, const std::string& secret) {
    ASSERT_TRUE(got.has_value()) << got.error().detail;
    EXPECT_EQ(got->is, is);
    EXPECT_EQ(got->secret, secret);
}

// ---- The environment and files

TEST_F(CredentialsTest, FilesComeBeforeTheEnvironmentAndAKeyBeforeASignature) {
    credential_settings from;
    from.signature = "?sv=1&sig=secret";
    expect_access(get(from), access::kind::signature, "sv=1&sig=secret");
    from.key = some_key;
    expect_access(get(from), access::kind::account_key, "secret key");
    from.signature_file = write("sas", "sv=2&sig=secret\n");
    expect_access(get(from), access::kind::signature, "sv=2&sig=secret");
    from.key_file = write("key", "YW5vdGhlcg==\n");
    const auto made = credentials::make(loop_, from);
    expect_access(get(made), access::kind::account_key, "another");
    EXPECT_EQ(made->source(), "the file " + from.key_file);
}

TEST_F(CredentialsTest, WhatIsNoKeyAndNoSignatureIsRejectedWithoutItsText) {
    credential_settings from;
    from.key = "secret!";
    expect_failure(get(from), errc::denied, "the account key of the environment is none");
    from.key = "";
    for (const auto* text : {"secret", "sv=1&sig=a secret", "sig=secret\r\nHost: b"}) {
        from.signature = text;
        expect_failure(get(from), errc::denied,
                       "the shared access signature of the environment is none");
    }
    from.key_file = "/no/such/file";
    expect_failure(get(from), errc::denied, "the file /no/such/file cannot be read");
}

TEST_F(CredentialsTest, WithoutASourceThereAreNone) {
    expect_failure(get(credential_settings{}), errc::denied, "no credentials of Azure");
}

TEST(ConnectionString, SaysWhoAsksAndWhere) {
    const auto told = parse_connection_string(
        "DefaultEndpointsProtocol=https; AccountName=mine;AccountKey=a+b/c==;EndpointSuffix="
        "core.chinacloudapi.cn;QueueEndpoint=x");
    EXPECT_EQ(told.account, "mine");
    EXPECT_EQ(told.key, "a+b/c==");
    EXPECT_EQ(told.endpoint, "https://mine.blob.core.chinacloudapi.cn");
    const auto other = parse_connection_string(
        "BlobEndpoint=http://127.0.0.1:10000/mine;SharedAccessSignature=sv=1&sig=b%3D;");
    EXPECT_EQ(other.endpoint, "http://127.0.0.1:10000/mine");
    EXPECT_EQ(other.signature, "sv=1&sig=b%3D");
    EXPECT_EQ(other.account, "");
    EXPECT_EQ(parse_connection_string("nonsense").endpoint, "");
}

// ---- Identities

TEST_F(CredentialsTest, AMachineIsAskedForATokenForStorage) {
    small_server metadata{[](const std::string& request, int) {
        const bool knows = request.find("Metadata: true\r\n") != std::string::npos;
        return said{knows ? ok(token_document("a.token", R"("expires_in":"3599")"))
                          : rejection("400 Bad Request")};
    }};
    credential_settings from;
    from.metadata_url = url_of(metadata);
    from.client = "client-1";
    const auto made = credentials::make(loop_, from);
    expect_access(get(made), access::kind::token, "a.token");
    EXPECT_EQ(made->source(), "the identity of the machine");
    expect_access(get(made), access::kind::token, "a.token");
    ASSERT_EQ(metadata.requests().size(), 1U);
    EXPECT_THAT(metadata.requests()[0],
                StartsWith("GET /metadata/identity/oauth2/token?api-version=2018-02-01&resource="
                           "https%3A%2F%2Fstorage.azure.com%2F&client_id=client-1 HTTP/1.1\r\n"));
}

TEST_F(CredentialsTest, AMachineWithoutAnIdentityHasNone) {
    small_server metadata{[](const std::string&, int) {
        return said{rejection("400 Bad Request", R"({"error":"invalid_request",)"
                                                 R"("error_description":"secret"})")};
    }};
    credential_settings from;
    from.metadata_url = url_of(metadata);
    expect_failure(get(from), errc::denied,
                   "the identity of the machine answers 400: invalid_request");
}

TEST_F(CredentialsTest, WhereNoMachineAnswersTheMessageNamesAllSources) {
    credential_settings from;
    from.metadata_url = "http://127.0.0.1:" + std::to_string(testing_servers::free_port());
    expect_failure(get(from), errc::unreachable,
                   "no credentials of Azure in the environment, and none of a managed identity");
}

TEST_F(CredentialsTest, AnAppServiceIsAskedWithItsHeader) {
    small_server app{[](const std::string& request, int) {
        const bool knows = request.find("X-IDENTITY-HEADER: a header\r\n") != std::string::npos;
        return said{knows ? ok(token_document("a.token", R"("expires_on":"4102444800")"))
                          : rejection("401 Unauthorized", "secret")};
    }};
    credential_settings from;
    from.app_endpoint = url_of(app) + "/msi/token";
    from.app_header = "a header";
    expect_access(get(from), access::kind::token, "a.token");
    EXPECT_THAT(app.requests()[0], StartsWith("GET /msi/token?api-version=2019-08-01&resource="
                                              "https%3A%2F%2Fstorage.azure.com%2F HTTP/1.1\r\n"));
    from.app_header = "another";
    expect_failure(get(from), errc::denied, "the identity of the app service answers 401");
}

TEST_F(CredentialsTest, AWorkloadIdentityIsExchangedForAToken) {
    small_server entra{[](const std::string& request, int) {
        const bool knows = request.ends_with(
            "\r\n\r\ngrant_type=client_credentials&client_id=client-1"
            "&scope=https%3A%2F%2Fstorage.azure.com%2F.default&client_assertion_type="
            "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"
            "&client_assertion=an.identity");
        return said{knows ? ok(token_document("a.token", R"("expires_in":3599)"))
                          : rejection("401 Unauthorized", R"({"error":"invalid_client"})")};
    }};
    auto from = workload_of(entra);
    expect_access(get(from), access::kind::token, "a.token");
    EXPECT_THAT(entra.requests()[0], StartsWith("POST /tenant%2F1/oauth2/v2.0/token HTTP/1.1\r\n"));
    // The file is read anew each time, as it is replaced every hour.
    write("identity", "another");
    expect_failure(get(from), errc::denied, "answers 401: invalid_client");
    from.identity_file = "/no/such/file";
    expect_failure(get(from), errc::denied, "/no/such/file cannot be read");
}

// Else a variable would be enough to have the identity sent anywhere.
TEST_F(CredentialsTest, AnIdentityIsNotSentInTheClearElsewhere) {
    EXPECT_TRUE(is_at_hand("127.0.0.1"));
    EXPECT_TRUE(is_at_hand("169.254.131.2"));
    EXPECT_TRUE(is_at_hand("localhost"));
    EXPECT_FALSE(is_at_hand("far.example"));
    EXPECT_FALSE(is_at_hand("127.0.0.1.far.example"));
    EXPECT_FALSE(is_at_hand("169.254.far.example"));
    EXPECT_FALSE(is_at_hand("192.0.2.1"));
    credential_settings from;
    from.app_endpoint = "http://192.0.2.1/msi/token";
    from.app_header = "secret";
    expect_failure(get(from), errc::denied, "'http://192.0.2.1' is not asked");
    from.identity_file = write("identity", "secret");
    from.tenant = from.client = "x";
    from.authority = "http://192.0.2.1/";
    expect_failure(get(from), errc::denied, "'http://192.0.2.1' is not asked");
}

TEST_F(CredentialsTest, AnAnswerThatIsNoTokenIsRejected) {
    for (const auto* body :
         {"", "[]", "{}", R"({"access_token":"secret"})", R"({"access_token":1,"expires_in":1})",
          R"({"access_token":"a secret","expires_in":3600})"}) {
        small_server metadata{[body](const std::string&, int) { return said{ok(body)}; }};
        credential_settings from;
        from.metadata_url = url_of(metadata);
        expect_failure(get(from), errc::denied, "the identity of the machine answers");
    }
}

// ---- What requests carry

class ServiceTest : public CredentialsTest {
protected:
    std::shared_ptr<service> make(const small_server& at, credential_settings keys) {
        service_settings settings;
        settings.at = plain(at.port());
        settings.path = "/mine";
        settings.account = "mine";
        settings.keys = std::move(keys);
        return service::make(loop_, settings);
    }
    static credential_settings lasting() {
        credential_settings from;
        from.key = some_key;
        return from;
    }
    result<net::https_response> ask(const std::shared_ptr<service>& whom,
                                    const std::string& target = "/container/blob") {
        net::https_request request{"PUT", target};
        return loop_.wait_for(whom->ask(std::move(request), later()));
    }
};

constexpr auto* failed = "x-ms-error-code: AuthenticationFailed\r\n";

TEST_F(ServiceTest, WithAKeyRequestsAreSigned) {
    small_server server{[](const std::string&, int) { return said{ok("{}")}; }};
    EXPECT_EQ(ask(make(server, lasting()))->body, "{}");
    EXPECT_THAT(server.requests()[0], StartsWith("PUT /mine/container/blob HTTP/1.1\r\n"));
    EXPECT_THAT(server.requests()[0], HasSubstr("Authorization: SharedKey mine:"));
    EXPECT_THAT(server.requests()[0], HasSubstr("x-ms-version: 2021-12-02\r\n"));
    EXPECT_THAT(server.requests()[0], Not(HasSubstr("secret")));
}

TEST_F(ServiceTest, ASignatureGoesIntoTheQuery) {
    small_server server{[](const std::string&, int) { return said{ok("{}")}; }};
    credential_settings from;
    from.signature = "sv=1&sig=b%3D";
    const auto made = make(server, from);
    EXPECT_TRUE(ask(made).has_value());
    EXPECT_TRUE(ask(made, "/container?comp=list").has_value());
    EXPECT_THAT(server.requests()[0],
                StartsWith("PUT /mine/container/blob?sv=1&sig=b%3D HTTP/1.1\r\n"));
    EXPECT_THAT(server.requests()[1],
                StartsWith("PUT /mine/container?comp=list&sv=1&sig=b%3D HTTP/1.1\r\n"));
}

TEST_F(ServiceTest, ATokenThatHasEndedIsReplacedAndTheRequestIsRepeated) {
    std::atomic<int> fetched = 0;
    small_server metadata{[&](const std::string&, int) {
        return said{ok(token_document("token" + std::to_string(++fetched), R"("expires_in":999)"))};
    }};
    small_server server{[](const std::string& request, int) {
        return said{request.find("Authorization: Bearer token1\r\n") != std::string::npos
                        ? rejection("401 Unauthorized", "",
                                    "x-ms-error-code: InvalidAuthenticationInfo\r\n")
                        : ok("{}")};
    }};
    credential_settings from;
    from.metadata_url = url_of(metadata);
    EXPECT_EQ(ask(make(server, from))->body, "{}");
    EXPECT_THAT(server.requests().at(1), HasSubstr("Authorization: Bearer token2\r\n"));
}

TEST_F(ServiceTest, WhatAnybodyMayUseIsNotSentInTheClear) {
    service_settings settings;
    settings.at = plain(80);
    settings.at.host = "192.0.2.1";
    settings.account = "mine";
    settings.keys.signature = "sv=1&sig=secret";
    const auto got = ask(service::make(loop_, settings));
    ASSERT_TRUE(got.has_error());
    EXPECT_EQ(name_of(got.error().code), name_of(errc::denied));
    EXPECT_THAT(got.error().detail, HasSubstr("is not sent in the clear"));
}

// The clock of this host is years off, as the service sees it.
TEST_F(ServiceTest, AClockThatIsWrongIsPutRightByTheServices) {
    small_server server{[](const std::string& request, int) {
        const std::string date = "Date: Sun, 01 Jan 2034 00:00:00 GMT\r\n";
        return said{request.find("x-ms-date: Sun, 01 Jan 2034 00:0") != std::string::npos
                        ? ok("{}", date)
                        : rejection("403 Forbidden", "", date + failed)};
    }};
    const auto made = make(server, lasting());
    EXPECT_EQ(ask(made)->body, "{}");
    EXPECT_EQ(ask(made)->body, "{}");
    EXPECT_EQ(server.requests().size(), 3U);
}

TEST_F(ServiceTest, ARejectionThatIsNotAboutCredentialsIsAnAnswer) {
    small_server server{[](const std::string&, int) {
        return said{
            rejection("403 Forbidden", "", "x-ms-error-code: AuthorizationPermissionMismatch\r\n")};
    }};
    EXPECT_EQ(ask(make(server, lasting()))->status, 403U);
    EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(ServiceTest, AKeyThatIsWrongIsTriedOnceMore) {
    small_server server{
        [](const std::string&, int) { return said{rejection("403 Forbidden", "", failed)}; }};
    EXPECT_EQ(ask(make(server, lasting()))->status, 403U);
    EXPECT_EQ(server.requests().size(), 2U);
}

TEST(ServiceEndpoint, HasAPathWhereTheAccountIsInIt) {
    service_settings into;
    EXPECT_TRUE(take_endpoint(into, "http://127.0.0.1:10000/devstoreaccount1/"));
    EXPECT_EQ(into.path, "/devstoreaccount1");
    EXPECT_EQ(into.at.port, 10000);
    EXPECT_TRUE(take_endpoint(into, "https://mine.blob.core.windows.net"));
    EXPECT_EQ(into.path, "");
    EXPECT_TRUE(into.at.secure);
    for (const auto* text : {"", "mine", "ftp://mine", "https://mine/a?b=c", "https://u:p@mine"})
        EXPECT_FALSE(take_endpoint(into, text)) << text;
}

}  // namespace
}  // namespace pawl::azblob
