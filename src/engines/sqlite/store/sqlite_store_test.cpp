// What only this engine does: boots, locks of other programs, files that are replaced.
#include "engines/sqlite/store/sqlite_store.hpp"

#include "base/identity.hpp"
#include "engines/sqlite/store/sqlite_fixture.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <string_view>
#include <thread>

namespace pawl::sqlite {
namespace {

using namespace std::chrono_literals;

class SqliteStore : public testing::Test {
protected:
    std::string path() const { return folder_ / "pawl.db"; }

    std::shared_ptr<lease_store> open(const sqlite_settings& settings = quick_settings()) {
        return make_sqlite_store(loop_, path(), settings).value();
    }
    result<acquire_result<grant>> acquire(lease_store& on, const std::string& key,
                                          millis ttl = 30s) {
        const claim wanted{key, base::fresh_id(), "owner", ttl};
        return loop_.wait_for(on.acquire(wanted));
    }
    fence_token granted(lease_store& on, const std::string& key, millis ttl = 30s) {
        const auto answer = acquire(on, key, ttl).value();
        const auto* won = std::get_if<grant>(&answer);
        EXPECT_NE(won, nullptr) << key;
        return won == nullptr ? fence_token{} : won->token;
    }
    busy rejected(lease_store& on, const std::string& key) {
        const auto answer = acquire(on, key).value();
        const auto* told = std::get_if<busy>(&answer);
        EXPECT_NE(told, nullptr) << key;
        return told == nullptr ? busy{} : *told;
    }
    bool release(lease_store& on, const std::string& key, fence_token token,
                 release_options how = {}) {
        return loop_.wait_for(on.release(key, token, how)).value();
    }

    const test_folder folder_;
    net::loop loop_;
};

// Goal: no process survives a reboot, so no lease does. Method: hand the rows to another boot.
TEST_F(SqliteStore, ALeaseOfAnotherBootIsOver) {
    const auto store = open();
    const auto token = granted(*store, "key", 1h);
    raw_database{path()}.run("UPDATE pawl_lease SET boot = 0, acquired_wall = 1");
    held_lease lease;
    lease.key = "key";
    lease.token = token;
    lease.ttl = 30s;
    lease.if_expired = expired_renewal::extend_if_unclaimed;
    const std::vector<held_lease> leases{lease};
    EXPECT_EQ(loop_.wait_for(store->renew(leases)).value().front(), renewal::lost);
    EXPECT_EQ(number(loop_.wait_for(store->inspect("key")).value()->holder), 0u);
    EXPECT_FALSE(release(*store, "key", token));
    EXPECT_GT(granted(*store, "key"), token);
}

// Goal: a lease of another machine, which shares the folder, is never taken for one of an earlier
// boot. Method: hand the row to a boot that acquired it after ours had begun, and to one that came
// to the file after ours; each verb that reads the row says so, and nothing has happened.
TEST_F(SqliteStore, ALeaseOfAnotherMachineIsUnsupportedAndLeftAlone) {
    const auto store = open();
    const auto token = granted(*store, "key", 1h);
    for (const std::string whose : {"boot = 0", "boot = 9, acquired_wall = 1"}) {
        raw_database{path()}.run("UPDATE pawl_lease SET " + whose);
        const std::string ask_row =
            "SELECT holder || claim_id || boot || until || last_token FROM pawl_lease";
        const auto row = raw_database{path()}.run(ask_row);
        const auto claimed = acquire(*store, "key");
        ASSERT_TRUE(claimed.has_error()) << whose;
        EXPECT_EQ(claimed.error().code, errc::unsupported);
        EXPECT_NE(claimed.error().detail.find(path()), std::string::npos);
        EXPECT_NE(claimed.error().detail.find("another machine"), std::string::npos);
        EXPECT_EQ(claimed.error().detail.find('\n'), std::string::npos);
        EXPECT_TRUE(loop_.wait_for(store->release("key", token, {})).has_error());
        EXPECT_TRUE(loop_.wait_for(store->force_release("key", token, 0ms)).has_error());
        EXPECT_TRUE(loop_.wait_for(store->inspect("key")).has_error());
        EXPECT_EQ(raw_database{path()}.run(ask_row), row);
    }
    EXPECT_GT(number(granted(*store, "other")), 0u);
}

// Goal: a wall clock that was set back over a reboot closes a key for as long as its lease only.
TEST_F(SqliteStore, ALeaseOfAnotherBootThatIsLongOverIsOver) {
    const auto store = open();
    const auto token = granted(*store, "key", 1h);
    raw_database{path()}.run(
        "UPDATE pawl_lease SET boot = 0, until_wall = acquired_wall - 61000000");
    EXPECT_GT(granted(*store, "key"), token);
}

// Goal: a periodic job that holds its key until the next period does so across a reboot.
TEST_F(SqliteStore, ACooldownContinuesAfterAReboot) {
    const auto store = open();
    release_options hold;
    hold.min_hold = release_options::until_expiry;
    EXPECT_TRUE(release(*store, "key", granted(*store, "key", 1h), hold));
    raw_database{path()}.run(
        "UPDATE pawl_lease SET boot = 0, acquired_wall = 1, acquired = 1, until = 2");
    const auto told = rejected(*store, "key");
    EXPECT_EQ(told.reason, busy_reason::cooldown);
    EXPECT_GT(told.remaining, 50min);
    EXPECT_LE(told.remaining, 1h);
}

// Goal: a lock that a program holds for too long is an error on time, and nothing has happened.
// Method: another program sits in a transaction; a rejection needs no lock and is told all the
// same.
TEST_F(SqliteStore, AFileThatStaysLockedIsUnreachableAndNothingHasHappened) {
    auto settings = quick_settings();
    settings.common.timeout = 200ms;
    const auto store = open(settings);
    const auto token = granted(*store, "held");
    raw_database other{path()};
    other.run("BEGIN IMMEDIATE");
    const auto asked = lease_clock::now();
    const auto answer = acquire(*store, "free");
    const auto took = lease_clock::now() - asked;
    ASSERT_TRUE(answer.has_error());
    EXPECT_EQ(answer.error().code, errc::unreachable);
    EXPECT_GE(took, 190ms);
    EXPECT_LT(took, 5s);
    EXPECT_EQ(rejected(*store, "held").holder, token);
    const auto released = loop_.wait_for(store->release("held", token, {}));
    ASSERT_TRUE(released.has_error());
    EXPECT_EQ(released.error().code, errc::unreachable);
    other.run("ROLLBACK");
    EXPECT_FALSE(loop_.wait_for(store->inspect("free")).value().has_value());
    EXPECT_EQ(loop_.wait_for(store->inspect("held")).value()->holder, token);
    EXPECT_TRUE(release(*store, "held", token));
}

// Goal: all who use a path agree, though the file was replaced under one of them. Method: remove
// it, and let another store make it anew.
TEST_F(SqliteStore, AFileThatWasReplacedIsOpenedAnew) {
    const auto before = open();
    granted(*before, "key");
    for (const std::string suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path() + suffix);
    const auto after = open();
    const auto token = granted(*after, "key");
    // The path is looked at again after a moment: until then the old file answers.
    fence_token seen{};
    const auto give_up = lease_clock::now() + 10s;
    while (seen != token && lease_clock::now() < give_up) seen = rejected(*before, "key").holder;
    EXPECT_EQ(seen, token);
    EXPECT_TRUE(release(*before, "key", token));
    EXPECT_GT(granted(*after, "key"), token);
}

// How often the other threads of this process have waited so far.
std::uint64_t pauses_of_others() {
    constexpr std::string_view name = "voluntary_ctxt_switches:";
    std::uint64_t all = 0;
    for (const auto& thread : std::filesystem::directory_iterator{"/proc/self/task"}) {
        if (thread.path().filename() == std::to_string(gettid())) continue;
        std::ifstream status{thread.path() / "status"};
        for (std::string line; std::getline(status, line);)
            if (line.starts_with(name)) all += std::stoull(line.substr(name.size()));
    }
    return all;
}

// Goal: what is granted stands in the file that all others use. Method: a writer waits for the lock
// of another process, and another file takes the path meanwhile, in which the key is held.
TEST_F(SqliteStore, AFileThatWasReplacedWhileAWriterWaitedIsNotWritten) {
    const auto before = open();
    granted(*before, "warm");
    raw_database locker{path()};
    locker.run("BEGIN IMMEDIATE");
    const auto begun = pauses_of_others();
    auto waiting = std::async(std::launch::async, [&] { return acquire(*before, "key"); });
    // Each look at the lock ends in a pause.
    const auto give_up = lease_clock::now() + 10s;
    while (pauses_of_others() < begun + 200 && lease_clock::now() < give_up)
        std::this_thread::yield();
    for (const std::string suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path() + suffix);
    const auto after = open();
    const auto token = granted(*after, "key");
    locker.run("ROLLBACK");
    const auto told = waiting.get().value();
    ASSERT_TRUE(std::holds_alternative<busy>(told));
    EXPECT_EQ(std::get<busy>(told).holder, token);
}

TEST_F(SqliteStore, NotesOfDeadWaitersGoAway) {
    const auto store = open();
    raw_database{path()}.run(
        "INSERT INTO pawl_waiter VALUES ('pawl', 'key', 'died', 1, 1), "
        "('pawl', 'key', 'of another boot', 77, 9000000000000000)");
    for (int i = 0; i < 64; ++i) release(*store, "other", granted(*store, "other"));
    EXPECT_EQ(raw_database{path()}.run("SELECT count(*) FROM pawl_waiter"), "0");
}

// Goal: processes may differ in how they sync. Method: two stores take turns on one key.
TEST_F(SqliteStore, StoresOfBothDurabilitiesShareAFile) {
    auto full = quick_settings();
    full.durability = synchronous::full;
    const auto careful = open(full);
    const auto quick = open();
    fence_token last{};
    for (int i = 0; i < 20; ++i) {
        auto& by = i % 2 == 0 ? *careful : *quick;
        const auto token = granted(by, "key");
        EXPECT_GT(token, last);
        last = token;
        EXPECT_TRUE(release(i % 3 == 0 ? *careful : *quick, "key", token));
    }
}

// A loss of power takes back what was not synced, and no quarantine sees it.
TEST_F(SqliteStore, FencingIsStrictOnlyWhereTheDiskIsWaitedFor) {
    auto settings = quick_settings();
    settings.common.quarantine = millis{1'000};
    EXPECT_FALSE(open(settings)->traits().strict_fencing);
    settings.durability = synchronous::full;
    settings.common.quarantine.reset();
    EXPECT_TRUE(open(settings)->traits().strict_fencing);
}

TEST_F(SqliteStore, ARelativePathAndALinkMeanTheSameFile) {
    const auto direct = open();
    std::filesystem::create_symlink(path(), folder_ / "link.db");
    const auto linked = make_sqlite_store(loop_, folder_ / "link.db", quick_settings()).value();
    const auto token = granted(*direct, "key");
    EXPECT_EQ(rejected(*linked, "key").holder, token);
    EXPECT_TRUE(release(*linked, "key", token));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "link.db-wal"));
}

}  // namespace
}  // namespace pawl::sqlite
