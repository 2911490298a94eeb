// What only this engine has, on a server that speaks as MongoDB does: the layout, pages, batches,
// and faults. What every store must do is in test_support/conformance.
#include "engines/mongodb/store/mongodb_fixture.hpp"
#include "test_support/conformance/client.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/conformance/faults.hpp"
#include "test_support/faults/tcp_proxy.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace pawl::mongodb {
namespace {

using namespace std::chrono_literals;
using conformance::client;
using conformance::fresh_claim;
using ::testing::HasSubstr;
using testing_faults::tcp_proxy;
using testing_servers::mongodb_server;

// The local server takes its time, above all beside other tests.
constexpr millis timeout_of_tests = 20s;

client open(std::uint16_t port, millis timeout = timeout_of_tests,
            const std::string& name_space = "pawl") {
    auto settings = on_port(port, timeout);
    settings.common.name_space = name_space;
    return client{[=](net::loop& where) { return make_mongodb_store(where, settings); }};
}

// One server for all; each test has a namespace of its own.
class Mongodb : public ::testing::Test {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<mongodb_server>(); }
    static void TearDownTestSuite() { server_.reset(); }

    std::string name_space() const {
        return ::testing::UnitTest::GetInstance()->current_test_info()->name();
    }
    mongodb_settings settings() const {
        auto to = on_port(server_->port(), timeout_of_tests);
        to.common.name_space = name_space();
        return to;
    }
    std::shared_ptr<cas::medium> medium() {
        auto made = make_mongodb_medium(loop_, settings());
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

    static inline std::unique_ptr<mongodb_server> server_;
    net::loop loop_;
};

// The layout is documented: people read it with the tools of MongoDB when all else fails.
TEST_F(Mongodb, WhatLiesThereIsTextThatPeopleCanRead) {
    auto mine = open(server_->port(), timeout_of_tests, name_space());
    const auto token = mine.granted(claim{"job/a", "my-id", "me on host", 30s});
    const auto found = server_->ask(
        "pawl", R"({"find": "pawl", "filter": {"_id": ")" + name_space() + R"(/l/6a6f622f61"}})");
    EXPECT_THAT(found, HasSubstr(R"("key" : "job/a")"));
    EXPECT_THAT(found, HasSubstr(R"("record" : "1 lease )"));
    EXPECT_THAT(found, HasSubstr(" holder=" + std::to_string(number(token)) + " "));
}

TEST_F(Mongodb, AVersionIsThatOfOneStateOnly) {
    const auto on = medium();
    const auto first = write(on, "key", "one");
    for (const auto* expected : {"", "1", "no number"}) {
        const auto got = try_write(on, "key", "two", expected);
        ASSERT_TRUE(got.has_value()) << got.error().detail;
        EXPECT_TRUE(std::holds_alternative<cas::conflict>(*got));
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
    EXPECT_EQ(loop_.wait_for(on->read(name, later())).value().at, "");
    // Also where the record was deleted in between.
    EXPECT_NE(write(on, "key", "one"), first);
}

TEST_F(Mongodb, OfABatchEachHasItsOwnAnswer) {
    const auto on = medium();
    std::vector<cas::change> changes;
    for (int i = 0; i < 20; ++i) {
        const auto key = std::to_string(i);
        // Every fourth is of another version.
        auto at = write(on, key, "one");
        if (i % 4 == 0) write(on, key, "other", at);
        changes.emplace_back(cas::record_name{cas::record_kind::lease, key}, "two of " + key,
                             std::move(at));
    }
    const auto got = loop_.wait_for(on->write_many(changes, later()));
    ASSERT_TRUE(got.has_value()) << got.error().detail;
    for (int i = 0; i < 20; ++i) {
        const auto& answer = got->at(static_cast<std::size_t>(i)).value();
        EXPECT_EQ(std::holds_alternative<cas::written>(answer), i % 4 != 0) << i;
        cas::record_name name{cas::record_kind::lease, std::to_string(i)};
        const auto stands = loop_.wait_for(on->read(name, later())).value();
        if (i % 4 == 0)
            EXPECT_EQ(stands.text, "other");
        else
            EXPECT_EQ(stands.at, std::get<cas::written>(answer).at);
    }
}

TEST_F(Mongodb, PagesAreInByteOrder) {
    const auto on = medium();
    std::vector<std::string> keys;
    for (int i = 0; i < 20; ++i) keys.push_back("a/" + std::to_string(i));
    for (const auto* key : {"a", "a0", "b", "b\xc3\xa9", "b\xff", "b\xff\xff", "c"})
        keys.emplace_back(key);
    keys.emplace_back(512, 'k');
    std::string longest(cas::text_max, 'x');
    for (const auto& key : keys) write(on, key, longest);
    std::sort(keys.begin(), keys.end());
    for (const std::string prefix : {"", "a", "a/", "a/1", "b", "b\xff", "k", "none"})
        for (const std::size_t limit : {1U, 7U, 1000U}) {
            std::vector<std::string> expected, found;
            for (const auto& key : keys)
                if (key.starts_with(prefix)) expected.push_back(key);
            std::string after;
            for (bool more = true; more;) {
                const auto page = loop_.wait_for(
                    on->list(cas::record_kind::lease, prefix, after, limit, later()));
                ASSERT_TRUE(page.has_value()) << page.error().detail;
                ASSERT_LE(page->records.size(), limit);
                more = page->more;
                for (const auto& [key, stands] : page->records) {
                    EXPECT_EQ(stands.text, longest);
                    found.push_back(key);
                    after = key;
                }
            }
            EXPECT_EQ(found, expected) << "'" << prefix << "' by " << limit;
        }
}

TEST_F(Mongodb, TheDoctorSaysWhatTheServerIs) {
    const auto store = make_mongodb_store(loop_, settings());
    const auto found = loop_.wait_for(store->examine());
    ASSERT_TRUE(found.has_value()) << found.error().detail;
    EXPECT_THAT(found->version, HasSubstr("MongoDB "));
    EXPECT_TRUE(found->clock.has_value());
    const auto level_of = [&](const std::string& check) {
        for (const auto& one : found->findings)
            if (one.check == check) return one.level;
        ADD_FAILURE() << "nothing is said of " << check;
        return severity::fail;
    };
    EXPECT_EQ(level_of("replication"), severity::warn);
    EXPECT_EQ(level_of("durability"), severity::ok);
    EXPECT_EQ(level_of("limits"), severity::ok);
    EXPECT_EQ(level_of("atomicity"), severity::ok);
}

// ---- Faults

// A server of its own, which may be hurt.
class MongodbFaults : public ::testing::Test {
protected:
    mongodb_server server_;
};

TEST_F(MongodbFaults, WhatWasAnsweredOutlivesAKill) {
    auto mine = open(server_.port());
    const auto token = mine.granted(fresh_claim("key", 60s));
    server_.crash();
    server_.start();
    EXPECT_EQ(open(server_.port()).show("key").holder, token);
}

TEST_F(MongodbFaults, AfterAKillTheSameClaimHasTheSameGrant) {
    auto mine = open(server_.port());
    const auto wanted = fresh_claim("key", 60s);
    const auto token = mine.granted(wanted);
    server_.crash();
    server_.start();
    // The connections were lost with the server: one of the requests may be unknown.
    auto again = mine.acquire(wanted);
    if (again.has_error()) again = mine.acquire(wanted);
    EXPECT_EQ(mine.granted(wanted), token);
}

TEST_F(MongodbFaults, WhileTheServerIsFrozenRequestsEndInTimeAndNothingIsLost) {
    conformance::expect_requests_to_end_while_frozen(server_,
                                                     [](auto... how) { return open(how...); });
}

TEST_F(MongodbFaults, ConnectionsThatAreCutAreMadeAnew) {
    tcp_proxy proxy{server_.port()};
    auto mine = open(proxy.port());
    mine.granted(fresh_claim("warm"));
    conformance::expect_connections_made_anew(proxy, mine);
}

TEST_F(MongodbFaults, ALoopMayEndUnderRequests) {
    auto where = std::make_unique<net::loop>();
    auto store = make_mongodb_store(*where, on_port(server_.port(), 2s));
    server_.freeze();
    conformance::end_under_requests(std::move(where), std::move(store));
    server_.thaw();
}

}  // namespace
}  // namespace pawl::mongodb
