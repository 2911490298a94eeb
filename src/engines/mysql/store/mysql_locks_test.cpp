// What rows that others keep locked may hold up, and what they may not.
#include "engines/mysql/store/mysql_fixture.hpp"

#include <poll.h>

#include <future>

namespace pawl::mysql {
namespace {

// Far longer than anything here takes that does not wait for a lock.
constexpr millis timeout{8s};

class MysqlLocks : public ::testing::Test {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<mysql_server>(); }
    static void TearDownTestSuite() { server_.reset(); }
    static const mysql_server& server() { return *server_; }
    // In a namespace of the test, with as few connections as can be.
    static mysql_settings narrow(const std::string& space) {
        auto settings = on_port(server().port(), timeout);
        settings.common.name_space = space;
        settings.connections_max = 1;
        settings.idle_max = 50ms;
        return settings;
    }
    static std::int64_t connections() {
        return server().count(
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'locker'");
    }
    // The server tells anew only what no session has asked for during a tenth of a second.
    static void until_a_session_waits_for_a_lock() {
        until([] {
            poll(nullptr, 0, 150);
            return server().count(
                       "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE "
                       "trx_state = 'LOCK WAIT'") > 0;
        });
    }

private:
    static inline std::unique_ptr<mysql_server> server_;
};

// Goal: a lock on what others want does not let a lease run out that has nothing to do with it.
// Method: the only connection waits for a row, of a key and then of the whole namespace, while a
// lease is renewed; what was opened for that goes again.
TEST_F(MysqlLocks, AClaimThatWaitsForARowHoldsUpNoRenewal) {
    for (const std::string table : {"pawl_lease", "pawl_floor"}) {
        auto mine = open(narrow(table));
        const auto token = mine.granted(fresh_claim("held", 120s));
        EXPECT_TRUE(*mine.release("wanted", mine.granted(fresh_claim("wanted"))));
        const bool of_key = table == "pawl_lease";
        auto outsider = server().hold("START TRANSACTION; SELECT 1 FROM pawl." + table +
                                      " WHERE name_space = '" + table + "'" +
                                      (of_key ? " AND lock_key = 'wanted'" : "") + " FOR UPDATE");
        const auto wanted = fresh_claim(of_key ? "wanted" : "new");
        auto claiming = std::async(std::launch::async, [&] { return mine.acquire(wanted); });
        until_a_session_waits_for_a_lock();
        const auto asked = lease_clock::now();
        EXPECT_EQ(mine.renew(conformance::lease_of("held", token, 120s)), renewal::renewed);
        EXPECT_LT(lease_clock::now() - asked, timeout / 2) << table;
        outsider.reset();
        EXPECT_TRUE(claiming.get().has_value()) << table;
        // Looked after when the timeout of what was asked over it has passed, perhaps once more.
        until([&] { return mine.inspect("held").has_value() && connections() == 1; }, 60s);
    }
}

// Goal: claims of a key that others keep locked do not take all connections. Method: as many of
// them as there are connections; another key is claimed beside them.
TEST_F(MysqlLocks, ClaimsOfALockedKeyStarveNoOtherKey) {
    auto settings = narrow("crowd");
    settings.connections_max = 2;
    auto mine = open(settings);
    EXPECT_TRUE(*mine.release("wanted", mine.granted(fresh_claim("wanted"))));
    auto outsider = server().hold(
        "START TRANSACTION; SELECT 1 FROM pawl.pawl_lease WHERE name_space = 'crowd' AND lock_key "
        "= 'wanted' FOR UPDATE");
    std::vector<std::future<bool>> waiting;
    for (int i = 0; i < 2; ++i)
        waiting.push_back(std::async(std::launch::async, [&] {
            const auto told = mine.acquire(fresh_claim("wanted"));
            return told.has_error() && told.error().code == errc::unreachable &&
                   told.error().answered;
        }));
    until_a_session_waits_for_a_lock();
    const auto asked = lease_clock::now();
    mine.granted(fresh_claim("other"));
    EXPECT_LT(lease_clock::now() - asked, timeout / 2);
    for (auto& each : waiting) EXPECT_TRUE(each.get());
}

// Goal: nor does an old record that is locked hold up what needs the floor of the namespace.
// Method: grants until it has been swept for; one is made under a key that is new.
TEST_F(MysqlLocks, ALockedOldRecordHoldsUpNoNewKey) {
    auto settings = narrow("swept");
    settings.connections_max = 4;
    settings.common.retention = 1ms;
    auto mine = open(settings);
    for (const auto* key : {"dead", "gone"})
        EXPECT_TRUE(*mine.release(key, mine.granted(fresh_claim(key))));
    server().ask(
        "UPDATE pawl.pawl_lease SET until_at = until_at - 3600000000 WHERE name_space = 'swept'");
    auto outsider = server().hold(
        "START TRANSACTION; SELECT 1 FROM pawl.pawl_lease WHERE name_space = 'swept' AND lock_key "
        "= 'dead' FOR UPDATE");
    for (int i = 0; i < 200; ++i) {
        const auto key = "new " + std::to_string(i);
        const auto asked = lease_clock::now();
        EXPECT_TRUE(*mine.release(key, mine.granted(fresh_claim(key))));
        EXPECT_LT(lease_clock::now() - asked, timeout / 2) << i;
    }
    outsider.reset();
}

// Goal: who claims, renews and releases, one after the other, needs no second connection.
TEST_F(MysqlLocks, ALoneCallerRenewsOverTheConnectionThatItHas) {
    auto settings = narrow("lone");
    settings.connections_max = 16;
    auto mine = open(settings);
    for (int i = 0; i < 20; ++i) {
        const auto token = mine.granted(fresh_claim("key"));
        EXPECT_EQ(mine.renew(conformance::lease_of("key", token)), renewal::renewed);
        EXPECT_TRUE(*mine.release("key", token));
    }
    EXPECT_EQ(connections(), 1);
}

}  // namespace
}  // namespace pawl::mysql
