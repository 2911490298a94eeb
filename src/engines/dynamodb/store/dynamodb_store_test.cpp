// What only DynamoDB has, on Amazon's local server: the layout, batches, pages over its partitions,
// and faults. What every store must do is in test_support/conformance.
#include "base/percent.hpp"
#include "engines/dynamodb/store/dynamodb_fixture.hpp"
#include "test_support/conformance/client.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/conformance/faults.hpp"
#include "test_support/faults/tcp_proxy.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <future>

namespace pawl::dynamodb {
namespace {

using namespace std::chrono_literals;
using conformance::client;
using conformance::expect_failure;
using conformance::fresh_claim;
using ::testing::HasSubstr;
using testing_faults::direction;
using testing_faults::tcp_proxy;
using testing_servers::dynamodb_server;

// The local server takes its time, above all beside other tests.
constexpr millis timeout_of_tests = 20s;

client open(std::uint16_t port, millis timeout = timeout_of_tests,
            const std::string& name_space = "pawl") {
    auto settings = on_port(port, timeout);
    settings.common.name_space = name_space;
    return client{[=](net::loop& where) { return make_dynamodb_store(where, settings); }};
}

// One server for all; each test has a namespace of its own.
class Dynamodb : public ::testing::Test {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<dynamodb_server>(); }
    static void TearDownTestSuite() { server_.reset(); }

    std::string name_space() const {
        return ::testing::UnitTest::GetInstance()->current_test_info()->name();
    }
    std::shared_ptr<cas::medium> medium() {
        auto settings = on_port(server_->port());
        settings.common.name_space = name_space();
        auto made = make_dynamodb_medium(loop_, settings);
        EXPECT_TRUE(loop_.wait_for(made->prepare(later())).has_value());
        return made;
    }
    static instant later() { return lease_clock::now() + 60s; }

    cas::version write(const std::shared_ptr<cas::medium>& to, const std::string& key,
                       const std::string& text) {
        cas::change wanted{{cas::record_kind::lease, key}, text, {}};
        const auto got = loop_.wait_for(to->write(std::move(wanted), later()));
        return std::get<cas::written>(got.value()).at;
    }

    static inline std::unique_ptr<dynamodb_server> server_;
    net::loop loop_;
};

// The layout is documented: people read it with the console of AWS when all else fails.
TEST_F(Dynamodb, WhatLiesThereIsTextThatPeopleCanRead) {
    auto mine = open(server_->port(), timeout_of_tests, name_space());
    const auto token = mine.granted(claim{"job/a", "my-id", "me on host", 30s});
    const auto item = server_->ask("GetItem", R"({"TableName":"pawl-test","Key":{"n":{"S":")" +
                                                  name_space() + R"(#l0"},"k":{"B":"am9iL2E="}}})");
    EXPECT_THAT(item, HasSubstr(R"("record":{"S":"1 lease )"));
    EXPECT_THAT(item, HasSubstr(" holder=" + std::to_string(number(token)) + " "));
    EXPECT_THAT(item, HasSubstr("me"));
}

TEST_F(Dynamodb, AConflictBringsWhatStandsThere) {
    const auto on = medium();
    const auto first = write(on, "key", "one");
    for (const auto* expected : {"", "another"}) {
        cas::change wanted{{cas::record_kind::lease, "key"}, "two", expected};
        const auto got = loop_.wait_for(on->write(std::move(wanted), later()));
        const auto& met = std::get<cas::conflict>(got.value());
        ASSERT_TRUE(met.now.has_value());
        EXPECT_EQ(met.now->text, "one");
        EXPECT_EQ(met.now->at, first);
        EXPECT_TRUE(met.clock.has_value());
    }
    cas::record_name name{cas::record_kind::lease, "key"};
    EXPECT_TRUE(std::holds_alternative<cas::conflict>(
        loop_.wait_for(on->erase(name, "another", later())).value()));
    EXPECT_TRUE(std::holds_alternative<cas::written>(
        loop_.wait_for(on->erase(name, first, later())).value()));
    // A version never recurs, also where the record was deleted in between.
    EXPECT_NE(write(on, "key", "one"), first);
}

TEST_F(Dynamodb, EachWriteOfABatchHappensOrNotByItself) {
    const auto on = medium();
    std::vector<cas::change> changes;
    for (int i = 0; i < 25; ++i) {
        const auto key = "key/" + std::to_string(i);
        auto at = write(on, key, "old");
        if (i % 3 == 1) at = "another";
        changes.push_back({{cas::record_kind::lease, key}, "new " + std::to_string(i), at});
    }
    changes[2].name.key = "none";
    const auto got = loop_.wait_for(on->write_many(changes, later()));
    ASSERT_TRUE(got.has_value()) << got.error().detail;
    for (int i = 0; i < 25; ++i) {
        const auto index = static_cast<std::size_t>(i);
        ASSERT_TRUE((*got)[index].has_value()) << (*got)[index].error().detail;
        const bool wrote = std::holds_alternative<cas::written>(*(*got)[index]);
        EXPECT_EQ(wrote, i % 3 != 1 && i != 2) << i;
        cas::record_name name{cas::record_kind::lease, changes[index].name.key};
        const auto stands = loop_.wait_for(on->read(name, later())).value();
        if (i == 2) {
            EXPECT_EQ(stands.at, "");
        } else {
            EXPECT_EQ(stands.text, wrote ? changes[index].text : "old");
        }
        if (wrote) {
            EXPECT_EQ(stands.at, std::get<cas::written>(*(*got)[index]).at);
        }
    }
}

// Goal: sixteen partitions read as one list. Method: all pages of many keys, of some prefixes.
TEST_F(Dynamodb, PagesOverAllPartitionsAreInByteOrder) {
    const auto on = medium();
    std::vector<std::string> keys;
    for (int i = 0; i < 60; ++i) keys.push_back("a/" + std::to_string(i));
    for (const auto* key : {"a", "a0", "b", "b\xc3\xa9", "b\xff", "b\xff\xff", "c"})
        keys.emplace_back(key);
    // A key is bytes, a text is UTF-8.
    const auto text_of = [](const std::string& key) {
        return "text of " + base::percent_encode(key);
    };
    for (const auto& key : keys) write(on, key, text_of(key));
    std::sort(keys.begin(), keys.end());
    for (const std::string prefix : {"", "a/", "a/1", "b", "b\xff", "x"}) {
        for (const std::size_t limit : {1U, 7U, 1000U}) {
            std::vector<std::string> expected, found;
            std::copy_if(keys.begin(), keys.end(), std::back_inserter(expected),
                         [&](const auto& key) { return key.starts_with(prefix); });
            // One by one takes its time: the first few will do.
            if (limit == 1) expected.resize(std::min<std::size_t>(expected.size(), 5));
            std::string after;
            for (bool more = true; more && found.size() < expected.size();) {
                const auto page = loop_.wait_for(
                    on->list(cas::record_kind::lease, prefix, after, limit, later()));
                ASSERT_TRUE(page.has_value()) << page.error().detail;
                ASSERT_LE(page->records.size(), limit);
                more = page->more;
                for (const auto& [key, stands] : page->records) {
                    EXPECT_EQ(stands.text, text_of(key));
                    found.push_back(key);
                    after = key;
                }
            }
            EXPECT_EQ(found, expected) << "'" << prefix << "' by " << limit;
        }
    }
}

TEST_F(Dynamodb, TheDoctorSaysWhatTheTableIsLike) {
    auto settings = on_port(server_->port(), timeout_of_tests);
    settings.common.name_space = name_space();
    const auto store = make_dynamodb_store(loop_, settings);
    const auto found = loop_.wait_for(store->examine());
    ASSERT_TRUE(found.has_value()) << found.error().detail;
    EXPECT_EQ(found->version, "Amazon DynamoDB");
    EXPECT_TRUE(found->clock.has_value());
    const auto level_of = [&](const std::string& check) {
        for (const auto& one : found->findings)
            if (one.check == check) return one.level;
        ADD_FAILURE() << "nothing is said of " << check;
        return severity::fail;
    };
    EXPECT_EQ(level_of("credentials"), severity::ok);
    EXPECT_EQ(level_of("replication"), severity::ok);
    EXPECT_EQ(level_of("limits"), severity::ok);
    EXPECT_EQ(level_of("persistence"), severity::warn);
    EXPECT_EQ(level_of("atomicity"), severity::ok);
}

// ---- Faults

// A server of its own, which may be hurt.
class DynamodbFaults : public ::testing::Test {
protected:
    dynamodb_server server_;
};

TEST_F(DynamodbFaults, AfterAKillTheSameClaimHasTheSameGrant) {
    conformance::expect_the_same_grant_of_a_known_key_after_a_kill(
        server_, [](auto... how) { return open(how...); });
}

TEST_F(DynamodbFaults, WhileTheServerIsFrozenRequestsEndInTimeAndNothingIsLost) {
    conformance::expect_requests_to_end_while_frozen(server_,
                                                     [](auto... how) { return open(how...); });
}

TEST_F(DynamodbFaults, ConnectionsThatAreCutAreMadeAnew) {
    tcp_proxy proxy{server_.port()};
    auto mine = open(proxy.port());
    mine.granted(fresh_claim("warm"));
    conformance::expect_connections_made_anew(proxy, mine);
}

TEST_F(DynamodbFaults, ATableThatIsLostIsNotTakenForTheOldOne) {
    auto mine = open(server_.port());
    mine.granted(fresh_claim("key"));
    server_.lose_data();
    auto other = open(server_.port());
    const auto theirs = other.granted(fresh_claim("key"));
    // It is told that the table is another one, or goes by what is there now: never by what it
    // remembers. The first request may have met the table before it was made anew.
    conformance::until([&] {
        const auto got = mine.acquire(fresh_claim("key"));
        if (got.has_error()) return got.error().code == errc::rejected;
        const auto* held = std::get_if<busy>(&*got);
        EXPECT_NE(held, nullptr);
        return held != nullptr && held->holder == theirs;
    });
}

TEST_F(DynamodbFaults, ALoopMayEndUnderRequests) {
    auto where = std::make_unique<net::loop>();
    auto store = make_dynamodb_store(*where, on_port(server_.port(), timeout_of_tests));
    server_.freeze();
    conformance::end_under_requests(std::move(where), std::move(store));
    server_.thaw();
}

}  // namespace
}  // namespace pawl::dynamodb
