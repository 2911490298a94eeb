// Each source of keys, asked at a small server that answers as AWS does.
#include "engines/aws/client/credentials.hpp"

#include "engines/aws/client/key_sources.hpp"
#include "engines/aws/client/profile.hpp"
#include "engines/aws/client/service.hpp"
#include "net/https/credentials_fixture.hpp"
#include "time/rfc3339.hpp"

#include <gmock/gmock.h>

namespace pawl::aws {
namespace {

using namespace std::chrono_literals;
using namespace net;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string in(std::chrono::seconds duration) {
    return time::format_rfc3339(time::wall_now() + duration);
}

std::string document(const std::string& id, const std::string& end) {
    return R"({"Code":"Success","AccessKeyId":")" + id +
           R"(","SecretAccessKey":"top secret","Token":"session","Expiration":")" + end + R"("})";
}

using CredentialsTest = CredentialsTestOf<credentials, credential_settings, key_pair>;

// ---- The environment and files

TEST_F(CredentialsTest, KeysOfTheEnvironmentComeFirst) {
    credential_settings from;
    from.keys = {"one", "two", "three"};
    from.metadata_url = "http://127.0.0.1:1";
    const auto made = credentials::make(loop_, from);
    EXPECT_EQ(get(made)->id, "one");
    EXPECT_EQ(get(made)->session, "three");
    EXPECT_EQ(made->source(), "the environment");
}

TEST_F(CredentialsTest, AProfileIsReadFromEitherFile) {
    credential_settings from;
    from.credentials_file = write("credentials",
                                  "# mine\n[default]\naws_access_key_id = one\n"
                                  "aws_secret_access_key=two # of work\r\n[other]\n"
                                  "aws_access_key_id=three\naws_secret_access_key=fo=ur\n");
    from.config_file = write("config",
                             "[profile far]\nregion = eu-west-1\naws_access_key_id = five\n"
                             "  aws_secret_access_key = no\naws_secret_access_key = six\n"
                             "aws_session_token = seven\n[default]\naws_access_key_id = eight\n");
    EXPECT_EQ(get(from)->id, "one");
    EXPECT_EQ(get(from)->secret, "two");
    from.profile = "other";
    EXPECT_EQ(get(from)->secret, "fo=ur");
    from.profile = "far";
    EXPECT_EQ(get(from)->secret, "six");
    EXPECT_EQ(get(from)->session, "seven");
}

TEST_F(CredentialsTest, AProfileThatIsNamedHasToHaveKeys) {
    credential_settings from;
    from.profile_named = true;
    from.profile = "mine";
    expect_failure(get(from), errc::denied, "there is no profile 'mine'");
    from.config_file = write("config", "[profile mine]\nregion = eu-west-1\n");
    expect_failure(get(from), errc::denied, "the profile 'mine' has no keys");
    for (const auto* name : {"credential_process", "sso_session", "source_profile"}) {
        from.config_file =
            write("config", "[profile mine]\n" + std::string{name} + " = a secret thing\n");
        expect_failure(get(from), errc::denied,
                       std::string{"has "} + name + ", which pawl does not follow");
    }
}

TEST_F(CredentialsTest, WithoutASourceThereAreNone) {
    expect_failure(get(credential_settings{}), errc::denied, "no credentials of AWS");
}

// ---- Containers and instances

TEST_F(CredentialsTest, AContainerIsAskedWithItsToken) {
    small_server agent{[](const std::string& request, int) {
        const bool knows = request.find("Authorization: a token\r\n") != std::string::npos;
        return said{knows ? ok(document("one", in(1h))) : rejection("401 Unauthorized", "secret")};
    }};
    credential_settings from;
    from.container_url = url_of(agent) + "/v1/credentials?id=1";
    from.container_token_file = write("token", "a token\n");
    const auto got = get(from);
    ASSERT_TRUE(got.has_value()) << got.error().detail;
    EXPECT_EQ(got->id, "one");
    EXPECT_EQ(got->session, "session");
    EXPECT_THAT(agent.requests()[0], StartsWith("GET /v1/credentials?id=1 HTTP/1.1\r\n"));
    from.container_token_file = write("token", "an old token");
    expect_failure(get(from), errc::denied, "answers 401");
    from.container_token_file = "/no/such/file";
    expect_failure(get(from), errc::denied, "/no/such/file cannot be read");
}

// Else a variable would be enough to have the token sent anywhere.
TEST_F(CredentialsTest, AContainerIsNotAskedInTheClearElsewhere) {
    EXPECT_TRUE(is_trusted_container_url("http://169.254.170.2/v2/credentials/1"));
    EXPECT_TRUE(is_trusted_container_url("http://169.254.170.23/v1/credentials"));
    EXPECT_TRUE(is_trusted_container_url("http://[fd00:ec2::23]/v1/credentials"));
    EXPECT_TRUE(is_trusted_container_url("http://127.0.0.1:1234/"));
    EXPECT_TRUE(is_trusted_container_url("https://far.example/"));
    EXPECT_FALSE(is_trusted_container_url("http://far.example/"));
    EXPECT_FALSE(is_trusted_container_url("http://169.254.170.2.far.example/"));
    EXPECT_FALSE(is_trusted_container_url("http://127.0.0.1.far.example/"));
    EXPECT_FALSE(is_trusted_container_url("nonsense"));
    credential_settings from;
    from.container_url = "http://192.0.2.1/";
    from.container_token = "secret";
    expect_failure(get(from), errc::denied, "is not asked");
}

said instance(const std::string& request) {
    if (request.starts_with("PUT /latest/api/token ") &&
        request.find("X-aws-ec2-metadata-token-ttl-seconds: 21600\r\n") != std::string::npos)
        return {ok("session token")};
    if (request.find("X-aws-ec2-metadata-token: session token\r\n") == std::string::npos)
        return {rejection("401 Unauthorized")};
    if (request.starts_with("GET /latest/meta-data/iam/security-credentials/ "))
        return {ok("my-role\n")};
    if (request.starts_with("GET /latest/meta-data/iam/security-credentials/my-role "))
        return {ok(document("one", in(6h)))};
    return {rejection("404 Not Found")};
}

TEST_F(CredentialsTest, AnInstanceIsAskedForItsRoleWithASession) {
    small_server metadata{[](const std::string& request, int) { return instance(request); }};
    credential_settings from;
    from.metadata_url = url_of(metadata);
    const auto made = credentials::make(loop_, from);
    const auto got = get(made);
    ASSERT_TRUE(got.has_value()) << got.error().detail;
    EXPECT_EQ(got->id, "one");
    EXPECT_EQ(made->source(), "the role of the instance");
    EXPECT_EQ(get(made)->id, "one");
    EXPECT_EQ(metadata.requests().size(), 3U);
}

TEST_F(CredentialsTest, AnInstanceWithoutARoleHasNone) {
    small_server metadata{[](const std::string& request, int) {
        return request.starts_with("PUT ") ? said{ok("session token")}
                                           : said{rejection("404 Not Found")};
    }};
    credential_settings from;
    from.metadata_url = url_of(metadata);
    expect_failure(get(from), errc::denied, "the instance has no role");
}

TEST_F(CredentialsTest, WhereNoInstanceAnswersTheMessageNamesAllSources) {
    credential_settings from;
    from.metadata_url = "http://127.0.0.1:" + std::to_string(testing_servers::free_port());
    expect_failure(get(from), errc::unreachable,
                   "no credentials of AWS in the environment, in a profile or at a container's "
                   "endpoint, and none of an instance");
}

// ---- Web identities

TEST_F(CredentialsTest, AWebIdentityIsExchangedForKeys) {
    small_server sts{[](const std::string& request, int) {
        const bool knows = request.ends_with(
            "\r\n\r\nAction=AssumeRoleWithWebIdentity&Version=2011-06-15"
            "&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fa&RoleSessionName=pawl"
            "&WebIdentityToken=an.identity");
        return said{knows
                        ? ok("<AssumeRoleWithWebIdentityResponse "
                             "xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Credentials>"
                             "<SessionToken>ses&amp;sion</SessionToken><SecretAccessKey>top secret"
                             "</SecretAccessKey><Expiration>" +
                             in(1h) + "</Expiration><AccessKeyId>one</AccessKeyId></Credentials>")
                        : "HTTP/1.1 403 Forbidden\r\nContent-Length: 60\r\n\r\n<Error><Code>"
                          "AccessDenied</Code><Message>secret</Message></Error>"};
    }};
    credential_settings from;
    from.sts_endpoint = url_of(sts);
    from.role_arn = "arn:aws:iam::1:role/a";
    from.identity_file = write("identity", "an.identity\n");
    const auto got = get(from);
    ASSERT_TRUE(got.has_value()) << got.error().detail;
    EXPECT_EQ(got->id, "one");
    EXPECT_EQ(got->session, "ses&sion");
    // The file is read anew each time, as it is replaced every hour.
    from.identity_file = write("identity", "another");
    expect_failure(get(from), errc::denied, "STS answers 403");
    from.identity_file = "/no/such/file";
    expect_failure(get(from), errc::denied, "/no/such/file cannot be read");
    for (const auto* far : {"http://192.0.2.1", "http://127.0.0.1.far.example"}) {
        from.sts_endpoint = far;
        expect_failure(get(from), errc::denied, "is not asked; expected https://host");
    }
}

// ---- Renewal

TEST_F(CredentialsTest, KeysAreFetchedAnewBeforeTheyEnd) {
    std::atomic<int> asked = 0;
    small_server agent{[&](const std::string&, int) {
        // Neither in its last five minutes; the second is not asked for again for a while.
        return said{ok(document("key " + std::to_string(++asked), in(4min)))};
    }};
    credential_settings from;
    from.container_url = url_of(agent) + "/";
    const auto made = credentials::make(loop_, from);
    EXPECT_EQ(get(made)->id, "key 1");
    EXPECT_EQ(get(made)->id, "key 1");
    EXPECT_EQ(asked, 1);
    made->forget();
    EXPECT_EQ(get(made)->id, "key 2");
}

// The clock of this host is ten years ahead, as the agent sees it.
TEST_F(CredentialsTest, AnEndCountsByTheClockOfWhoSaysIt) {
    std::atomic<int> asked = 0;
    small_server agent{[&](const std::string&, int) {
        const auto id = "key " + std::to_string(++asked);
        return said{
            ok(document(id, "2014-01-01T06:00:00Z"), "Date: Wed, 01 Jan 2014 00:00:00 GMT\r\n")};
    }};
    credential_settings from;
    from.container_url = url_of(agent) + "/";
    const auto made = credentials::make(loop_, from);
    EXPECT_EQ(get(made)->id, "key 1");
    EXPECT_EQ(get(made)->id, "key 1");
    EXPECT_EQ(asked, 1);
}

TEST_F(CredentialsTest, ManyWhoAskAtOnceAreAnsweredByOneRequest) {
    std::atomic<int> asked = 0;
    small_server agent{
        [&](const std::string&, int) { return ++asked, said{ok(document("one", in(1h)))}; }};
    credential_settings from;
    from.container_url = url_of(agent) + "/";
    const auto made = credentials::make(loop_, from);
    const auto work = [made, until = later()]() -> boost::asio::awaitable<int> {
        const auto executor = co_await boost::asio::this_coro::executor;
        int answered = 0;
        net::event all;
        for (int i = 0; i < 5; ++i)
            boost::asio::co_spawn(executor, made->get(until),
                                  [&](std::exception_ptr, result<key_pair> got) {
                                      EXPECT_TRUE(got.has_value());
                                      if (++answered == 5) all.set();
                                  });
        auto waiting = all.wait();
        co_await std::move(waiting);
        co_return answered;
    };
    EXPECT_EQ(loop_.wait_for(work()), 5);
    EXPECT_EQ(asked, 1);
}

// ---- A service

class ServiceTest : public CredentialsTest {
protected:
    std::shared_ptr<service> make(const small_server& at, credential_settings keys) {
        service_settings settings;
        settings.at = plain(at.port());
        settings.where = {"eu-west-1", "dynamodb"};
        settings.keys = std::move(keys);
        return service::make(loop_, settings);
    }
    static credential_settings lasting() {
        credential_settings from;
        from.keys = {"one", "two", ""};
        return from;
    }
    result<net::https_response> ask(const std::shared_ptr<service>& whom) {
        net::https_request request{"POST", "/", "{}"};
        return loop_.wait_for(whom->ask(std::move(request), later()));
    }
};

TEST_F(ServiceTest, RequestsAreSigned) {
    small_server server{[](const std::string&, int) { return said{ok("{}")}; }};
    EXPECT_EQ(ask(make(server, lasting()))->body, "{}");
    EXPECT_THAT(server.requests()[0], HasSubstr("Authorization: AWS4-HMAC-SHA256 Credential=one/"));
    EXPECT_THAT(server.requests()[0], HasSubstr("/eu-west-1/dynamodb/aws4_request"));
    EXPECT_THAT(server.requests()[0], Not(HasSubstr("two")));
}

TEST_F(ServiceTest, KeysThatHaveEndedAreReplacedAndTheRequestIsRepeated) {
    std::atomic<int> fetched = 0;
    small_server agent{[&](const std::string&, int) {
        return said{ok(document("key" + std::to_string(++fetched), in(1h)))};
    }};
    small_server server{[](const std::string& request, int) {
        return request.find("Credential=key1/") != std::string::npos
                   ? said{rejection("400 Bad Request", R"({"__type":"x#ExpiredTokenException"})")}
                   : said{ok("{}")};
    }};
    credential_settings from;
    from.container_url = url_of(agent) + "/";
    EXPECT_EQ(ask(make(server, from))->body, "{}");
    EXPECT_EQ(server.requests().size(), 2U);
}

// The clock of this host is ten years off, as the service sees it.
TEST_F(ServiceTest, AClockThatIsWrongIsPutRightByTheServices) {
    small_server server{[](const std::string& request, int) {
        const std::string date = "Date: Sun, 01 Jan 2034 00:00:00 GMT\r\n";
        return request.find("X-Amz-Date: 20340101T0000") != std::string::npos
                   ? said{ok("{}", date)}
                   : said{"HTTP/1.1 400 Bad Request\r\n" + date +
                          "Content-Length: 70\r\n\r\n"
                          R"({"__type":"x#InvalidSignatureException",)"
                          R"("message":"Signature expired"})"};
    }};
    const auto made = make(server, lasting());
    EXPECT_EQ(ask(made)->body, "{}");
    EXPECT_EQ(ask(made)->body, "{}");
    EXPECT_EQ(server.requests().size(), 3U);
}

// A condition that did not hold is answered with the record, which others have written.
TEST_F(ServiceTest, WhatStandsInARecordIsNoRejectionOfTheKeys) {
    std::atomic<int> fetched = 0;
    small_server agent{[&](const std::string&, int) {
        return said{ok(document("key" + std::to_string(++fetched), in(1h)))};
    }};
    const std::string record = R"({"__type":"x#ConditionalCheckFailedException",)"
                               R"("Item":{"owner":{"S":"ExpiredToken"}}})";
    small_server server{
        [&](const std::string&, int) { return said{rejection("400 Bad Request", record)}; }};
    credential_settings from;
    from.container_url = url_of(agent) + "/";
    EXPECT_EQ(ask(make(server, from))->body, record);
    EXPECT_EQ(server.requests().size(), 1U);
    EXPECT_EQ(fetched, 1);
}

TEST_F(ServiceTest, ARejectionThatIsNotAboutKeysOrTimeIsAnAnswer) {
    small_server server{[](const std::string&, int) {
        return said{"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}"};
    }};
    EXPECT_EQ(ask(make(server, lasting()))->status, 400U);
    EXPECT_EQ(server.requests().size(), 1U);
}

}  // namespace
}  // namespace pawl::aws
