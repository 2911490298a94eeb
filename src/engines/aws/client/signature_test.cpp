// The vectors of AWS: its test suite for Signature Version 4, and the examples of its guides.
#include "engines/aws/client/signature.hpp"

#include "base/digest.hpp"

#include <gtest/gtest.h>

namespace pawl::aws {
namespace {

using namespace std::chrono_literals;

const key_pair keys{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};
const scope service{"us-east-1", "service"};
const time::wall_instant noon{std::chrono::sys_days{std::chrono::year{2015} / 8 / 30} + 12h +
                              36min};

std::string last_of(const net::https_request& request) { return request.fields.back().second; }

void expect_signed(net::https_request request, const std::string& names,
                   const std::string& signature) {
    sign(request, "example.amazonaws.com", keys, service, noon);
    EXPECT_EQ(last_of(request),
              "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
              "SignedHeaders=" +
                  names + ", Signature=" + signature)
        << request.method << ' ' << request.target;
}

TEST(Signature, TheTestSuiteOfAwsIsSignedAsItSays) {
    constexpr auto* plain = "host;x-amz-date";
    expect_signed({"GET", "/"}, plain,
                  "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    expect_signed({"POST", "/"}, plain,
                  "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
    // get-vanilla-query-order-key-case
    expect_signed({"GET", "/?Param2=value2&Param1=value1"}, plain,
                  "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
    // get-vanilla-empty-query-key
    expect_signed({"GET", "/?Param1=value1"}, plain,
                  "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb");
    // get-utf8
    expect_signed({"GET", "/%E1%88%B4"}, plain,
                  "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
    // get-unreserved
    expect_signed({"GET", "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"},
                  plain, "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f");
    // get-space
    expect_signed({"GET", "/example%20space/"}, plain,
                  "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741");
}

TEST(Signature, FieldsAreSignedInOrderAndWithoutTheirBlanks) {
    net::https_request trimmed{"GET", "/"};
    trimmed.fields = {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}};
    expect_signed(trimmed, "host;my-header1;my-header2;x-amz-date",
                  "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736");
    // get-header-key-duplicate
    net::https_request twice{"GET", "/"};
    twice.fields = {{"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}};
    expect_signed(twice, "host;my-header1;x-amz-date",
                  "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea");
    // post-x-www-form-urlencoded
    net::https_request form{"POST", "/", "Param1=value1"};
    form.fields = {{"Content-Type", "application/x-www-form-urlencoded"}};
    expect_signed(form, "content-type;host;x-amz-date",
                  "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a");
}

// The example of the guide to IAM.
TEST(Signature, TheExampleOfTheGuideComesOut) {
    net::https_request request{"GET", "/?Action=ListUsers&Version=2010-05-08"};
    request.fields = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}};
    const auto bodyless = base::sha256_hex("");
    auto dated = request;
    dated.fields.emplace_back("X-Amz-Date", "20150830T123600Z");
    EXPECT_EQ(base::sha256_hex(canonical_request(dated, "iam.amazonaws.com", bodyless)),
              "f536975d06c0309214f805bb90ccff089219ecd68b2577efef23edd43b7e1a59");
    sign(request, "iam.amazonaws.com", keys, {"us-east-1", "iam"}, noon);
    EXPECT_TRUE(last_of(request).ends_with(
        "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"))
        << last_of(request);
}

// The examples of the guide to S3, whose path is signed as it is sent.
TEST(Signature, TheExamplesOfS3ComeOut) {
    const key_pair own{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
    const time::wall_instant day{std::chrono::sys_days{std::chrono::year{2013} / 5 / 24}};
    constexpr auto* host = "examplebucket.s3.amazonaws.com";
    const auto signature = [&](net::https_request request) {
        request.fields.emplace_back("X-Amz-Content-Sha256", base::sha256_hex(request.body));
        sign(request, host, own, {"us-east-1", "s3"}, day);
        return last_of(request).substr(last_of(request).find("Signature=") + 10);
    };
    net::https_request get{"GET", "/test.txt"};
    get.fields = {{"Range", "bytes=0-9"}};
    EXPECT_EQ(signature(get), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
    net::https_request put{"PUT", "/test%24file.text", "Welcome to Amazon S3."};
    put.fields = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"},
                  {"X-Amz-Storage-Class", "REDUCED_REDUNDANCY"}};
    EXPECT_EQ(signature(put), "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
    EXPECT_EQ(signature({"GET", "/?lifecycle"}),
              "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
    EXPECT_EQ(signature({"GET", "/?max-keys=2&prefix=J"}),
              "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(Signature, KeysThatEndBringTheirSession) {
    net::https_request request{"GET", "/"};
    sign(request, "example.amazonaws.com", {keys.id, keys.secret, "a session"}, service, noon);
    EXPECT_EQ(request.fields[1],
              std::pair(std::string{"X-Amz-Security-Token"}, std::string{"a session"}));
    EXPECT_NE(last_of(request).find("SignedHeaders=host;x-amz-date;x-amz-security-token,"),
              std::string::npos);
}

TEST(Signature, TimeIsOfUtcToTheSecond) {
    EXPECT_EQ(signing_time(noon + 59s + 999ms), "20150830T123659Z");
    EXPECT_EQ(signing_time(time::wall_instant{}), "19700101T000000Z");
}

}  // namespace
}  // namespace pawl::aws
