#include "engines/azblob/client/signature.hpp"

#include "base/base64.hpp"

#include <gtest/gtest.h>

namespace pawl::azblob {
namespace {

// The example of "Authorize with Shared Key" in the reference of Azure Storage.
net::https_request published_example() {
    net::https_request request{"GET", "/mycontainer?comp=metadata&restype=container&timeout=20"};
    request.fields = {{"x-ms-version", "2015-02-21"},
                      {"x-ms-date", "Fri, 26 Jun 2015 23:39:12 GMT"}};
    return request;
}

TEST(Signature, TheTextThatIsSignedIsThatOfThePublishedExample) {
    EXPECT_EQ(string_to_sign(published_example(), "myaccount"),
              "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\n"
              "x-ms-version:2015-02-21\n/myaccount/mycontainer\ncomp:metadata\n"
              "restype:container\ntimeout:20");
}

TEST(Signature, ConditionsAndABodyStandInTheirPlaces) {
    net::https_request request{"PUT", "/devstoreaccount1/c/a%20b?X=2&x=%2F1&A", "body"};
    request.fields = {
        {"Content-Type", "text/plain"},  {"If-Match", "\"tag\""}, {"If-None-Match", "*"},
        {"X-Ms-Meta-B", "  two words "}, {"x-ms-meta-a", ""},     {"Accept", "not signed"}};
    EXPECT_EQ(string_to_sign(request, "devstoreaccount1"),
              "PUT\n\n\n4\n\ntext/plain\n\n\n\"tag\"\n*\n\n\nx-ms-meta-a:\n"
              "x-ms-meta-b:two words\n/devstoreaccount1/devstoreaccount1/c/a%20b\nx:2\nx:/1");
}

// The key is that of the local account, which is published with it; what it makes of the text was
// computed by another program.
TEST(Signature, IsTheCodeOfThatTextByTheKeyOfTheAccount) {
    const auto key = base::from_base64(
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==");
    ASSERT_TRUE(key.has_value());
    auto request = published_example();
    request.fields.pop_back();
    const std::chrono::seconds since_epoch{1'435'361'952};
    sign(request, "myaccount", *key, time::wall_instant{since_epoch});
    const net::http_fields expected{
        {"x-ms-version", "2015-02-21"},
        {"x-ms-date", "Fri, 26 Jun 2015 23:39:12 GMT"},
        {"Authorization", "SharedKey myaccount:1u9lui2jDxj0+fpbHjQ5m5NnastJRSYM+PSmfi8TXx4="}};
    EXPECT_EQ(request.fields, expected);
}

}  // namespace
}  // namespace pawl::azblob
