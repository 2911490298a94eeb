// What only S3 has, on a real server: the layout, ETags, pages of names, and faults. What every
// store must do is in test_support/conformance.
#include "engines/s3/store/object_names.hpp"
#include "engines/s3/store/s3_fixture.hpp"
#include "test_support/conformance/client.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/conformance/faults.hpp"
#include "test_support/faults/tcp_proxy.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace pawl::s3 {
namespace {

using namespace std::chrono_literals;
using conformance::client;
using conformance::expect_failure;
using conformance::fresh_claim;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_faults::tcp_proxy;
using testing_servers::s3_server;

// A server over files takes its time beside other tests.
constexpr millis timeout_of_tests = 20s;

client open(std::uint16_t port, millis timeout = timeout_of_tests,
            const std::string& name_space = "pawl") {
    auto settings = on_port(port, timeout);
    settings.common.name_space = name_space;
    return client{[=](net::loop& where) { return make_s3_store(where, settings); }};
}

std::string text_of(const std::filesystem::path& file) {
    std::ifstream in{file};
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

// One server for all; each test has a namespace of its own.
class S3 : public ::testing::Test {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<s3_server>(); }
    static void TearDownTestSuite() { server_.reset(); }

    std::string name_space() const {
        return ::testing::UnitTest::GetInstance()->current_test_info()->name();
    }
    std::shared_ptr<cas::medium> medium() {
        auto settings = on_port(server_->port(), timeout_of_tests);
        settings.common.name_space = name_space();
        return make_s3_medium(loop_, settings);
    }
    static instant later() { return lease_clock::now() + 60s; }

    result<cas::write_answer> write(const std::shared_ptr<cas::medium>& to, const std::string& key,
                                    const std::string& text, const cas::version& expected = {}) {
        cas::change wanted{{cas::record_kind::lease, key}, text, expected};
        return loop_.wait_for(to->write(std::move(wanted), later()));
    }
    cas::seen read(const std::shared_ptr<cas::medium>& from, const std::string& key) {
        cas::record_name name{cas::record_kind::lease, key};
        return loop_.wait_for(from->read(std::move(name), later())).value();
    }
    bool erase(const std::shared_ptr<cas::medium>& from, const std::string& key,
               const cas::version& expected) {
        cas::record_name name{cas::record_kind::lease, key};
        const auto got = loop_.wait_for(from->erase(std::move(name), expected, later()));
        return std::holds_alternative<cas::written>(got.value());
    }

    static inline std::unique_ptr<s3_server> server_;
    net::loop loop_;
};

// The layout is documented: people read it with the tools of AWS when all else fails.
TEST_F(S3, WhatLiesThereIsTextThatPeopleCanRead) {
    auto mine = open(server_->port(), timeout_of_tests, name_space());
    const auto token = mine.granted(claim{"job/a", "my-id", "me on host", 30s});
    const auto folder = "leases-of/tests/" + name_space();
    const auto object = text_of(server_->file_of(folder + "/leases/job/a!"));
    EXPECT_THAT(object, StartsWith("1 lease "));
    EXPECT_THAT(object, HasSubstr(" holder=" + std::to_string(number(token)) + " "));
    EXPECT_THAT(text_of(server_->file_of(folder + "/marker")), StartsWith("1 marker "));
}

TEST_F(S3, AWriteHappensOnlyOnTheVersionThatIsThere) {
    const auto on = medium();
    EXPECT_EQ(read(on, "key").at, "");
    EXPECT_TRUE(read(on, "key").clock.has_value());
    const auto first = std::get<cas::written>(write(on, "key", "one").value()).at;
    EXPECT_EQ(read(on, "key").at, first);
    for (const auto* expected : {"", "\"c4ca4238a0b923820dcc509a6f75849b\""}) {
        const auto got = write(on, "key", "two", expected).value();
        EXPECT_TRUE(std::holds_alternative<cas::conflict>(got));
        EXPECT_TRUE(std::get<cas::conflict>(got).clock.has_value());
    }
    EXPECT_EQ(read(on, "key").text, "one");
    const auto second = std::get<cas::written>(write(on, "key", "two", first).value()).at;
    EXPECT_FALSE(erase(on, "key", first));
    EXPECT_TRUE(erase(on, "key", second));
    EXPECT_EQ(read(on, "key").at, "");
    EXPECT_TRUE(std::holds_alternative<cas::conflict>(write(on, "key", "three", second).value()));
}

// A key may be what to another is a folder.
TEST_F(S3, KeysThatAreFoldersOfOthersAreKeys) {
    const auto on = medium();
    for (const auto* key : {"job", "job/a", "job/a/b", "job//a", ".", "..", "/", "a/../b"})
        EXPECT_TRUE(std::holds_alternative<cas::written>(write(on, key, key).value())) << key;
    for (const auto* key : {"job", "job/a", "job/a/b", "job//a", ".", "..", "/", "a/../b"})
        EXPECT_EQ(read(on, key).text, key);
    EXPECT_TRUE(erase(on, "job", read(on, "job").at));
    EXPECT_EQ(read(on, "job/a").text, "job/a");
}

// Goal: pages of names are pages of keys. Method: all pages of keys that a server over files could
// put in another order, of some prefixes; beside them lies what others have put there.
TEST_F(S3, PagesAreInByteOrder) {
    const auto on = medium();
    std::vector<std::string> keys;
    for (int i = 0; i < 12; ++i) keys.push_back("a/" + std::to_string(i));
    for (const auto* key : {"a", "a-b", "a.b", "a/", "a//b", "a0", "a b", "b", "b\xc3\xa9", "b\xff",
                            "b\xff\xff", "c", "c<&>"})
        keys.emplace_back(key);
    keys.push_back(std::string(200, 'l'));
    keys.push_back(std::string(200, 'l') + "/x");
    keys.push_back(std::string(512, 'l'));
    for (const auto& key : keys)
        EXPECT_TRUE(std::holds_alternative<cas::written>(write(on, key, "text").value())) << key;
    const auto folder = server_->file_of("leases-of/tests/" + name_space() + "/leases");
    std::ofstream{folder / "README"} << "not a record";
    std::sort(keys.begin(), keys.end());
    for (const std::string prefix : {"", "a", "a/", "a/1", "b", "b\xff", "l", "x"}) {
        for (const std::size_t limit : {1U, 7U, 1000U}) {
            std::vector<std::string> expected, found;
            std::copy_if(keys.begin(), keys.end(), std::back_inserter(expected),
                         [&](const auto& key) { return key.starts_with(prefix); });
            std::string after;
            for (bool more = true; more;) {
                const auto page = loop_.wait_for(
                    on->list(cas::record_kind::lease, prefix, after, limit, later()));
                ASSERT_TRUE(page.has_value()) << page.error().detail;
                ASSERT_LE(page->records.size(), limit);
                more = page->more && !page->records.empty();
                for (const auto& [key, stands] : page->records) {
                    EXPECT_EQ(stands.text, "text");
                    found.push_back(key);
                    after = key;
                }
            }
            EXPECT_EQ(found, expected) << "'" << prefix << "' by " << limit;
        }
    }
}

TEST_F(S3, TheDoctorSaysWhatTheBucketIsLike) {
    auto settings = on_port(server_->port(), timeout_of_tests);
    settings.common.name_space = name_space();
    const auto store = make_s3_store(loop_, settings);
    const auto found = loop_.wait_for(store->examine());
    ASSERT_TRUE(found.has_value()) << found.error().detail;
    EXPECT_THAT(found->version, StartsWith("S3 of "));
    EXPECT_TRUE(found->clock.has_value());
    const auto level_of = [&](const std::string& check) {
        for (const auto& one : found->findings)
            if (one.check == check) {
                EXPECT_THAT(one.text, ::testing::Not(HasSubstr("secret")));
                return one.level;
            }
        ADD_FAILURE() << "nothing is said of " << check;
        return severity::fail;
    };
    EXPECT_EQ(level_of("credentials"), severity::ok);
    EXPECT_EQ(level_of("versioning"), severity::ok);
    EXPECT_EQ(level_of("persistence"), severity::ok);
    EXPECT_EQ(level_of("atomicity"), severity::ok);
}

TEST_F(S3, KeysAndBucketsThatAreNotThereAreToldInOneLine) {
    auto settings = on_port(server_->port(), timeout_of_tests);
    settings.service.keys.keys.secret = "another secret";
    client wrong{[=](net::loop& where) { return make_s3_store(where, settings); }};
    expect_failure(wrong.inspect("key"), errc::denied, "SignatureDoesNotMatch");
    settings = on_port(server_->port(), timeout_of_tests);
    settings.bucket = "no-such-bucket";
    client none{[=](net::loop& where) { return make_s3_store(where, settings); }};
    expect_failure(none.inspect("key"), errc::rejected, "there is no bucket 'no-such-bucket'");
}

// ---- Faults

// A server of its own, which may be hurt.
class S3Faults : public ::testing::Test {
protected:
    s3_server server_;
};

TEST_F(S3Faults, AfterAKillTheSameClaimHasTheSameGrant) {
    conformance::expect_the_same_grant_of_a_known_key_after_a_kill(
        server_, [](auto... how) { return open(how...); });
}

TEST_F(S3Faults, WhileTheServerIsFrozenRequestsEndInTimeAndNothingIsLost) {
    conformance::expect_requests_to_end_while_frozen(server_,
                                                     [](auto... how) { return open(how...); });
}

TEST_F(S3Faults, ConnectionsThatAreCutAreMadeAnew) {
    tcp_proxy proxy{server_.port()};
    auto mine = open(proxy.port());
    mine.granted(fresh_claim("warm"));
    conformance::expect_connections_made_anew(proxy, mine);
}

TEST_F(S3Faults, ALoopMayEndUnderRequests) {
    auto where = std::make_unique<net::loop>();
    auto store = make_s3_store(*where, on_port(server_.port(), timeout_of_tests));
    server_.freeze();
    conformance::end_under_requests(std::move(where), std::move(store));
    server_.thaw();
}

}  // namespace
}  // namespace pawl::s3
