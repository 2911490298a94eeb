// What only Azure has, on Microsoft's local server: the layout, pages, credentials, and faults.
// What every store must do is in test_support/conformance.
#include "engines/azblob/store/azblob_fixture.hpp"
#include "engines/azblob/store/names.hpp"
#include "test_support/conformance/client.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/conformance/faults.hpp"
#include "test_support/faults/tcp_proxy.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <future>

namespace pawl::azblob {
namespace {

using namespace std::chrono_literals;
using conformance::client;
using conformance::expect_failure;
using conformance::fresh_claim;
using ::testing::HasSubstr;
using testing_faults::tcp_proxy;
using testing_servers::azurite_server;

// The local server takes its time, above all beside other tests.
constexpr millis timeout_of_tests = 20s;

client open(std::uint16_t port, millis timeout = timeout_of_tests,
            const std::string& name_space = "pawl") {
    auto settings = on_port(port, timeout);
    settings.common.name_space = name_space;
    return client{[=](net::loop& where) { return make_azblob_store(where, settings); }};
}

// One server for all; each test has a namespace of its own.
class Azblob : public ::testing::Test {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<azurite_server>(); }
    static void TearDownTestSuite() { server_.reset(); }

    std::string name_space() const {
        return ::testing::UnitTest::GetInstance()->current_test_info()->name();
    }
    azblob_settings settings() const {
        auto to = on_port(server_->port(), timeout_of_tests);
        to.common.name_space = name_space();
        return to;
    }
    std::shared_ptr<cas::medium> medium() {
        auto made = make_azblob_medium(loop_, settings());
        EXPECT_TRUE(loop_.wait_for(made->prepare(later())).has_value());
        return made;
    }
    static instant later() { return lease_clock::now() + 60s; }

    result<cas::write_answer> try_write(const std::shared_ptr<cas::medium>& to,
                                        const std::string& key, const std::string& text,
                                        const cas::version& expected = {}) {
        cas::change wanted{{cas::record_kind::lease, key}, text, expected};
        return loop_.wait_for(to->write(std::move(wanted), later()));
    }
    cas::version write(const std::shared_ptr<cas::medium>& to, const std::string& key,
                       const std::string& text, const cas::version& expected = {}) {
        const auto got = try_write(to, key, text, expected);
        if (got.has_value() && std::holds_alternative<cas::written>(*got))
            return std::get<cas::written>(*got).at;
        ADD_FAILURE() << key << " was not written";
        return {};
    }

    static inline std::unique_ptr<azurite_server> server_;
    net::loop loop_;
};

// The layout is documented: people read it with the tools of Azure when all else fails.
TEST_F(Azblob, WhatLiesThereIsTextThatPeopleCanRead) {
    auto mine = open(server_->port(), timeout_of_tests, name_space());
    const auto token = mine.granted(claim{"job/a", "my-id", "me on host", 30s});
    const auto answer =
        server_->ask("HEAD", "/pawl-test/" + name_space() + "/l/" + to_base32("job/a"));
    EXPECT_THAT(answer, HasSubstr("x-ms-meta-key: job/a\r\n"));
    EXPECT_THAT(answer, HasSubstr("x-ms-meta-record: 1 lease "));
    EXPECT_THAT(answer, HasSubstr(" holder=" + std::to_string(number(token)) + " "));
    EXPECT_THAT(answer, HasSubstr("me%2520on%2520host"));
}

TEST_F(Azblob, AVersionIsThatOfOneStateOnly) {
    const auto on = medium();
    const auto first = write(on, "key", "one");
    for (const auto* expected : {"", "0x8D0"}) {
        const auto got = try_write(on, "key", "two", expected);
        ASSERT_TRUE(got.has_value()) << got.error().detail;
        EXPECT_TRUE(std::get<cas::conflict>(*got).clock.has_value());
    }
    EXPECT_TRUE(std::holds_alternative<cas::conflict>(try_write(on, "none", "two", first).value()));
    cas::record_name name{cas::record_kind::lease, "key"};
    const auto stands = loop_.wait_for(on->read(name, later())).value();
    EXPECT_EQ(stands.text, "one");
    EXPECT_EQ(stands.at, first);
    EXPECT_TRUE(stands.clock.has_value());
    const auto second = write(on, "key", "two", first);
    EXPECT_TRUE(std::holds_alternative<cas::conflict>(
        loop_.wait_for(on->erase(name, first, later())).value()));
    EXPECT_TRUE(std::holds_alternative<cas::written>(
        loop_.wait_for(on->erase(name, second, later())).value()));
    EXPECT_TRUE(std::holds_alternative<cas::conflict>(
        loop_.wait_for(on->erase(name, second, later())).value()));
    EXPECT_EQ(loop_.wait_for(on->read(name, later())).value().at, "");
    // Also where the record was deleted in between.
    EXPECT_NE(write(on, "key", "one"), first);
}

// Goal: what is put into a field of a request and an element of a list comes back as it was.
TEST_F(Azblob, AnyTextComesBack) {
    const auto on = medium();
    std::string longest = "1 lease ";
    longest += std::string(cas::text_max - longest.size(), 'x');
    const std::vector<std::string> texts{"100 %", " two  blanks ", "<a b=\"c\">&amp;</a>",
                                         "gr\xc3\xbc\xc3\x9f"
                                         "e",
                                         longest};
    for (std::size_t i = 0; i < texts.size(); ++i) write(on, std::to_string(i), texts[i]);
    const auto all = loop_.wait_for(on->list(cas::record_kind::lease, "", "", 100, later()));
    ASSERT_TRUE(all.has_value()) << all.error().detail;
    ASSERT_EQ(all->records.size(), texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        EXPECT_EQ(all->records[i].second.text, texts[i]);
        cas::record_name name{cas::record_kind::lease, std::to_string(i)};
        const auto stands = loop_.wait_for(on->read(name, later())).value();
        EXPECT_EQ(stands.text, texts[i]);
        EXPECT_EQ(stands.at, all->records[i].second.at);
    }
}

// Goal: pages are one list, in byte order. Method: all pages of many keys, of some prefixes, in one
// go and by clients that begin in the middle.
TEST_F(Azblob, PagesAreInByteOrder) {
    const auto on = medium();
    std::vector<std::string> keys;
    for (int i = 0; i < 40; ++i) keys.push_back("a/" + std::to_string(i));
    for (const auto* key : {"a", "a0", "b", "b\xc3\xa9", "b\xff", "b\xff\xff", "c"})
        keys.emplace_back(key);
    keys.emplace_back(512, 'k');
    for (const auto& key : keys) write(on, key, "of " + std::to_string(key.size()));
    std::sort(keys.begin(), keys.end());
    for (const std::string prefix : {"", "a", "a/", "a/1", "b", "b\xff", "k", "none"})
        for (const std::size_t limit : {1U, 7U, 1000U})
            for (const bool by_others : {false, true}) {
                std::vector<std::string> expected, found;
                for (const auto& key : keys)
                    if (key.starts_with(prefix)) expected.push_back(key);
                std::string after;
                for (bool more = true; more;) {
                    const auto whom = by_others ? medium() : on;
                    const auto page = loop_.wait_for(
                        whom->list(cas::record_kind::lease, prefix, after, limit, later()));
                    ASSERT_TRUE(page.has_value()) << page.error().detail;
                    ASSERT_LE(page->records.size(), limit);
                    more = page->more;
                    for (const auto& [key, stands] : page->records) {
                        EXPECT_EQ(stands.text, "of " + std::to_string(key.size()));
                        found.push_back(key);
                        after = key;
                    }
                }
                EXPECT_EQ(found, expected) << "'" << prefix << "' by " << limit;
            }
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
    auto mine = open(server_->port(), timeout_of_tests, name_space());
    const auto token = mine.granted(fresh_claim("key"));
    const auto blob = "/pawl-test/" + name_space() + "/l/" + to_base32("key");
    EXPECT_THAT(server_->ask("PUT", blob + "?comp=lease",
                             "x-ms-lease-action: acquire\r\nx-ms-lease-duration: -1\r\n"),
                HasSubstr("HTTP/1.1 201"));
    expect_failure(mine.release("key", token), errc::rejected, "LeaseIdMissing");
}

TEST_F(Azblob, TheDoctorSaysWhatTheAccountIsLike) {
    const auto store = make_azblob_store(loop_, settings());
    const auto found = loop_.wait_for(store->examine());
    ASSERT_TRUE(found.has_value()) << found.error().detail;
    EXPECT_THAT(found->version, HasSubstr("Azurite"));
    EXPECT_TRUE(found->clock.has_value());
    const auto level_of = [&](const std::string& check) {
        for (const auto& one : found->findings)
            if (one.check == check) return one.level;
        ADD_FAILURE() << "nothing is said of " << check;
        return severity::fail;
    };
    EXPECT_EQ(level_of("credentials"), severity::ok);
    // It says that it is copied to another region.
    EXPECT_EQ(level_of("replication"), severity::warn);
    EXPECT_EQ(level_of("limits"), severity::ok);
    EXPECT_EQ(level_of("atomicity"), severity::ok);
}

// ---- Faults

// A server of its own, which may be hurt.
class AzblobFaults : public ::testing::Test {
protected:
    azurite_server server_;
};

TEST_F(AzblobFaults, AfterAKillTheSameClaimHasTheSameGrant) {
    conformance::expect_the_same_grant_of_a_known_key_after_a_kill(
        server_, [](auto... how) { return open(how...); });
}

TEST_F(AzblobFaults, WhileTheServerIsFrozenRequestsEndInTimeAndNothingIsLost) {
    conformance::expect_requests_to_end_while_frozen(server_,
                                                     [](auto... how) { return open(how...); });
}

TEST_F(AzblobFaults, ConnectionsThatAreCutAreMadeAnew) {
    tcp_proxy proxy{server_.port()};
    auto mine = open(proxy.port());
    mine.granted(fresh_claim("warm"));
    conformance::expect_connections_made_anew(proxy, mine);
}

TEST_F(AzblobFaults, AContainerThatIsLostIsNotTakenForTheOldOne) {
    auto mine = open(server_.port());
    mine.granted(fresh_claim("key"));
    server_.lose_data();
    expect_failure(mine.acquire(fresh_claim("key")), errc::rejected, "the container was deleted");
    auto other = open(server_.port());
    other.granted(fresh_claim("key"));
    expect_failure(mine.acquire(fresh_claim("key")), errc::rejected, "the container was deleted");
}

TEST_F(AzblobFaults, ALoopMayEndUnderRequests) {
    auto where = std::make_unique<net::loop>();
    auto store = make_azblob_store(*where, on_port(server_.port(), timeout_of_tests));
    server_.freeze();
    conformance::end_under_requests(std::move(where), std::move(store));
    server_.thaw();
}

}  // namespace
}  // namespace pawl::azblob
