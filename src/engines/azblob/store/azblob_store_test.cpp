// What only Azure has, on Microsoft's local server: the layout, pages, credentials, and faults.
// What every store must do is in test_support/conformance.
#include "engines/azblob/store/azblob_fixture.hpp"
#include "engines/azblob/store/names.hpp"
#include "test_support/conformance/cas_medium.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace pawl::azblob {
namespace {

using namespace std::chrono_literals;
using conformance::client;
using conformance::expect_failure;
using conformance::fresh_claim;
using conformance::level_of;
using ::testing::HasSubstr;
using testing_servers::azurite_server;

struct azblob_engine : conformance::cas_engine<testing_servers::azurite_server, azblob::on_port,
                                               make_azblob_store, make_azblob_medium> {
    static constexpr bool answers_can_be_held = true;
};
using Azblob = conformance::CasMedium<azblob_engine>;

// The layout is documented: people read it with the tools of Azure when all else fails.
TEST_F(Azblob, WhatLiesThereIsTextThatPeopleCanRead) {
    auto mine = open();
    const auto token = mine.granted(claim{"job/a", "my-id", "me on host", 30s});
    const auto answer =
        server_->ask("HEAD", "/pawl-test/" + name_space() + "/l/" + to_base32("job/a"));
    EXPECT_THAT(answer, HasSubstr("x-ms-meta-key: job/a\r\n"));
    EXPECT_THAT(answer, HasSubstr("x-ms-meta-record: 1 lease "));
    EXPECT_THAT(answer, HasSubstr(" holder=" + std::to_string(number(token)) + " "));
    EXPECT_THAT(answer, HasSubstr("me%2520on%2520host"));
}

TEST_F(Azblob, AVersionIsThatOfOneStateOnly) {
    expect_versions_of_one_state({"0x8D0"});
    // Also where the record was deleted in between.
    const auto on = medium();
    const auto first = write(on, "other", "one");
    EXPECT_TRUE(std::get<cas::conflict>(try_write(on, "other", "two")).clock.has_value());
    EXPECT_TRUE(erase(on, "other", first));
    EXPECT_FALSE(erase(on, "other", first));
    EXPECT_NE(write(on, "other", "one"), first);
}

// Goal: what is put into a field of a request and an element of a list comes back as it was.
TEST_F(Azblob, AnyTextComesBack) {
    const auto on = medium();
    std::string longest = "1 lease ";
    longest += std::string(cas::text_max - longest.size(), 'x');
    const std::vector<std::string> texts{"100 %", " two  blanks ", "<a b=\"c\">&amp;</a>",
                                         "gr\u00fc\u00dfe", longest};
    for (std::size_t i = 0; i < texts.size(); ++i) write(on, std::to_string(i), texts[i]);
    const auto all = loop_.wait_for(on->list({cas::record_kind::lease, "", "", 100}, later()));
    ASSERT_TRUE(all.has_value()) << all.error().detail;
    ASSERT_EQ(all->records.size(), texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        EXPECT_EQ(all->records[i].second.text, texts[i]);
        const auto stands = read(on, std::to_string(i));
        EXPECT_EQ(stands.text, texts[i]);
        EXPECT_EQ(stands.at, all->records[i].second.at);
    }
}

std::vector<std::string> keys_to_list() {
    std::vector<std::string> keys{"a", "a0", "b", "b\xc3\xa9", "b\xff", "b\xff\xff", "c"};
    for (int i = 0; i < 40; ++i) keys.push_back("a/" + std::to_string(i));
    keys.emplace_back(512, 'k');
    return keys;
}

std::string text_of_length(const std::string& key) { return "of " + std::to_string(key.size()); }

TEST_F(Azblob, PagesAreInByteOrder) {
    expect_pages_in_byte_order(keys_to_list(),
                               {{"", "a", "a/", "a/1", "b", "b\xff", "k", "none"}, text_of_length});
}

TEST_F(Azblob, PagesMayBeAskedForByClientsThatBeginInTheMiddle) {
    expect_pages_in_byte_order(
        keys_to_list(),
        {{"", "a/", "b\xff", "k", "none"}, text_of_length, [this] { return medium(); }});
}

TEST_F(Azblob, APrefixKeepsTwoUsersOfAContainerApart) {
    auto elsewhere = settings();
    elsewhere.prefix = "team/a";
    client one{[=, to = settings()](net::loop& where) { return make_azblob_store(where, to); }};
    client other{[=](net::loop& where) { return make_azblob_store(where, elsewhere); }};
    one.granted(fresh_claim("key"));
    other.granted(fresh_claim("key"));
}

TEST_F(Azblob, ASharedAccessSignatureIsEnough) {
    auto to = settings();
    to.service.keys = {};
    to.service.keys.signature = azurite_server::signature;
    client mine{[=](net::loop& where) { return make_azblob_store(where, to); }};
    mine.granted(fresh_claim("key"));
    to.service.keys.signature = "sv=2019-12-12&sig=wrong";
    client wrong{[=](net::loop& where) { return make_azblob_store(where, to); }};
    expect_failure(wrong.acquire(fresh_claim("other")), errc::denied, "status 403");
}

TEST_F(Azblob, AKeyThatIsWrongIsDenied) {
    auto to = settings();
    to.service.keys.key = "d3Jvbmc=";
    client wrong{[=](net::loop& where) { return make_azblob_store(where, to); }};
    expect_failure(wrong.acquire(fresh_claim("key")), errc::denied, "status 403");
}

// A program that takes leases of Azure's own on the same blobs.
TEST_F(Azblob, ABlobUnderALeaseOfAzuresOwnIsLeftToIt) {
    auto mine = open();
    const auto token = mine.granted(fresh_claim("key"));
    const auto blob = "/pawl-test/" + name_space() + "/l/" + to_base32("key");
    EXPECT_THAT(server_->ask("PUT", blob + "?comp=lease",
                             "x-ms-lease-action: acquire\r\nx-ms-lease-duration: -1\r\n"),
                HasSubstr("HTTP/1.1 201"));
    expect_failure(mine.release("key", token), errc::rejected, "LeaseIdMissing");
}

TEST_F(Azblob, TheDoctorSaysWhatTheAccountIsLike) {
    const auto found = examine();
    EXPECT_THAT(found.version, HasSubstr("Azurite"));
    EXPECT_EQ(level_of(found, "credentials"), severity::ok);
    // It says that it is copied to another region.
    EXPECT_EQ(level_of(found, "replication"), severity::warn);
    EXPECT_EQ(level_of(found, "limits"), severity::ok);
    EXPECT_EQ(level_of(found, "atomicity"), severity::ok);
}

// ---- Faults

TEST(AzblobFaults, AContainerThatIsLostIsNotTakenForTheOldOne) {
    azurite_server server;
    auto mine = conformance::open_cas<azblob_engine>(server.port());
    mine.granted(fresh_claim("key"));
    server.lose_data();
    expect_failure(mine.acquire(fresh_claim("key")), errc::rejected, "the container was deleted");
    auto other = conformance::open_cas<azblob_engine>(server.port());
    other.granted(fresh_claim("key"));
    expect_failure(mine.acquire(fresh_claim("key")), errc::rejected, "the container was deleted");
}

}  // namespace
}  // namespace pawl::azblob

namespace pawl::conformance {

INSTANTIATE_TYPED_TEST_SUITE_P(azblob, CasFaults, azblob::azblob_engine);

}  // namespace pawl::conformance
