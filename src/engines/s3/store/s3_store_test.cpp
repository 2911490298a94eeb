// What only S3 has, on a real server: the layout, ETags, pages of names, and faults. What every
// store must do is in test_support/conformance.
#include "engines/s3/store/object_names.hpp"
#include "engines/s3/store/s3_fixture.hpp"
#include "test_support/conformance/cas_medium.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

namespace pawl::s3 {
namespace {

using namespace std::chrono_literals;
using conformance::client;
using conformance::expect_failure;
using conformance::level_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_servers::s3_server;

struct s3_engine : conformance::cas_engine<testing_servers::s3_server, s3::on_port, make_s3_store,
                                           make_s3_medium> {
    static constexpr bool answers_can_be_held = true;
};
using S3 = conformance::CasMedium<s3_engine>;

std::string text_of(const std::filesystem::path& file) {
    std::ifstream in{file};
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

// The layout is documented: people read it with the tools of AWS when all else fails.
TEST_F(S3, WhatLiesThereIsTextThatPeopleCanRead) {
    auto mine = open();
    const auto token = mine.granted(claim{"job/a", "my-id", "me on host", 30s});
    const auto folder = "leases-of/tests/" + name_space();
    const auto object = text_of(server_->file_of(folder + "/leases/job/a!"));
    EXPECT_THAT(object, StartsWith("1 lease "));
    EXPECT_THAT(object, HasSubstr(" holder=" + std::to_string(number(token)) + " "));
    EXPECT_THAT(text_of(server_->file_of(folder + "/marker")), StartsWith("1 marker "));
}

TEST_F(S3, AWriteHappensOnlyOnTheVersionThatIsThere) {
    expect_versions_of_one_state({"\"c4ca4238a0b923820dcc509a6f75849b\""});
    const auto on = medium();
    EXPECT_TRUE(read(on, "none").clock.has_value());
    write(on, "other", "one");
    EXPECT_TRUE(std::get<cas::conflict>(try_write(on, "other", "two")).clock.has_value());
}

// A key may be what to another is a folder.
TEST_F(S3, KeysThatAreFoldersOfOthersAreKeys) {
    const auto on = medium();
    for (const auto* key : {"job", "job/a", "job/a/b", "job//a", ".", "..", "/", "a/../b"})
        write(on, key, key);
    for (const auto* key : {"job", "job/a", "job/a/b", "job//a", ".", "..", "/", "a/../b"})
        EXPECT_EQ(read(on, key).text, key);
    EXPECT_TRUE(erase(on, "job", read(on, "job").at));
    EXPECT_EQ(read(on, "job/a").text, "job/a");
}

// In an order that a server over files could take for another; beside them lies what others have
// put there.
TEST_F(S3, PagesAreInByteOrder) {
    std::vector<std::string> keys{"a", "a-b",       "a.b",   "a/",        "a//b", "a0",  "a b",
                                  "b", "b\xc3\xa9", "b\xff", "b\xff\xff", "c",    "c<&>"};
    for (int i = 0; i < 12; ++i) keys.push_back("a/" + std::to_string(i));
    keys.push_back(std::string(200, 'l'));
    keys.push_back(std::string(200, 'l') + "/x");
    keys.push_back(std::string(512, 'l'));
    const auto listed = [on = medium()] {
        const auto folder = server_->file_of("leases-of/tests/" + name_space() + "/leases");
        std::ofstream{folder / "README"} << "not a record";
        return on;
    };
    expect_pages_in_byte_order(keys, {{"", "a", "a/", "a/1", "b", "b\xff", "l", "x"},
                                      [](const std::string&) { return "text"; },
                                      listed});
}

TEST_F(S3, TheDoctorSaysWhatTheBucketIsLike) {
    const auto found = examine();
    EXPECT_THAT(found.version, StartsWith("S3 of "));
    for (const auto& one : found.findings)
        EXPECT_THAT(one.text, ::testing::Not(HasSubstr("secret")));
    EXPECT_EQ(level_of(found, "credentials"), severity::ok);
    EXPECT_EQ(level_of(found, "versioning"), severity::ok);
    EXPECT_EQ(level_of(found, "persistence"), severity::ok);
    EXPECT_EQ(level_of(found, "atomicity"), severity::ok);
}

TEST_F(S3, KeysAndBucketsThatAreNotThereAreToldInOneLine) {
    auto to = settings();
    to.service.keys.keys.secret = "another secret";
    client wrong{[=](net::loop& where) { return make_s3_store(where, to); }};
    expect_failure(wrong.inspect("key"), errc::denied, "SignatureDoesNotMatch");
    to = settings();
    to.bucket = "no-such-bucket";
    client none{[=](net::loop& where) { return make_s3_store(where, to); }};
    expect_failure(none.inspect("key"), errc::rejected, "there is no bucket 'no-such-bucket'");
}

}  // namespace
}  // namespace pawl::s3

namespace pawl::conformance {

INSTANTIATE_TYPED_TEST_SUITE_P(s3, CasFaults, s3::s3_engine);

}  // namespace pawl::conformance
