#include "engines/sqlite/client/connection.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace pawl::sqlite {
namespace {

using namespace std::chrono_literals;

class SqliteConnection : public ::testing::Test {
protected:
    SqliteConnection() {
        std::filesystem::create_directories(folder_);
        std::ofstream{path()};  // it has to be there
        opened_ = connection::open(path(), lease_clock::now() + 5s).value();
    }
    ~SqliteConnection() override { std::filesystem::remove_all(folder_); }

    std::string path() const { return folder_ / "one.db"; }
    connection& on() { return *opened_; }
    failure rejection_of(const char* statements) {
        const int code = on().run(statements);
        EXPECT_NE(code, SQLITE_OK);
        return on().rejected(code);
    }

private:
    const std::filesystem::path folder_ =
        std::filesystem::path{::testing::TempDir()} /
        ("pawl-connection-" + std::to_string(::getpid()) + "-" +
         ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::unique_ptr<connection> opened_;
};

// Goal: a full file may be written again once there is room, but it is there: no outage policy
// applies. Method: a bound of pages in place of that of a disk.
TEST_F(SqliteConnection, AFullFileIsUnreachableForNowButNoOutage) {
    ASSERT_EQ(on().run("CREATE TABLE t (x)"), SQLITE_OK);
    ASSERT_EQ(on().run("PRAGMA max_page_count = 3"), SQLITE_OK);
    const auto why = rejection_of("INSERT INTO t VALUES (randomblob(100000))");
    EXPECT_EQ(name_of(why.code), "unreachable");
    EXPECT_FALSE(is_outage(why));
    EXPECT_NE(why.detail.find("make room on its disk"), std::string::npos) << why.detail;
    ASSERT_EQ(on().run("PRAGMA max_page_count = 1000"), SQLITE_OK);
    EXPECT_EQ(on().run("INSERT INTO t VALUES (randomblob(100000))"), SQLITE_OK);
}

// Goal: a statement that could not be prepared is no "not there". Method: the first preparation of
// a run fails, and a second one would not.
TEST_F(SqliteConnection, AStatementThatCannotBePreparedFailsForItsRun) {
    ASSERT_EQ(on().run("CREATE TABLE t (x); INSERT INTO t VALUES ('there')"), SQLITE_OK);
    bool denies = true;
    const auto deny_once = [](void* once, int, const char*, const char*, const char*, const char*) {
        return std::exchange(*static_cast<bool*>(once), false) ? SQLITE_DENY : SQLITE_OK;
    };
    sqlite3_set_authorizer(on().handle(), deny_once, &denies);
    statement find{on(), "SELECT x FROM t WHERE x = ?1"};
    find.start("there");
    EXPECT_FALSE(find.next());
    EXPECT_EQ(find.code() & 0xff, SQLITE_AUTH);
    find.reset();
    find.start("there");
    EXPECT_TRUE(find.next());
    find.reset();
}

// SQLite's own file system, under a quota that leaves no room for another file. One at a time.
class file_system_under_quota {
public:
    file_system_under_quota() : vfs_{*sqlite3_vfs_find(nullptr)} {
        open_ = vfs_.xOpen;
        vfs_.zName = "under quota";
        vfs_.pNext = nullptr;
        vfs_.xGetLastError = [](sqlite3_vfs*, int, char*) { return EDQUOT; };
        vfs_.xOpen = [](sqlite3_vfs* self, const char* path, sqlite3_file* file, int how,
                        int* done) {
            if (!is_used_up_) return open_(self, path, file, how, done);
            file->pMethods = nullptr;
            return SQLITE_CANTOPEN;
        };
        sqlite3_vfs_register(&vfs_, 1);
    }
    ~file_system_under_quota() {
        is_used_up_ = false;
        sqlite3_vfs_unregister(&vfs_);
    }
    file_system_under_quota(const file_system_under_quota&) = delete;
    file_system_under_quota& operator=(const file_system_under_quota&) = delete;

    void use_up() { is_used_up_ = true; }

private:
    static inline decltype(sqlite3_vfs::xOpen) open_ = nullptr;
    static inline bool is_used_up_ = false;
    sqlite3_vfs vfs_;
};

// Goal: a quota that was reached once says nothing of what fails later. Method: SQLite keeps the
// system's word with the connection.
TEST_F(SqliteConnection, AQuotaThatWasReachedOnceColoursNoOtherFailure) {
    file_system_under_quota files;
    const auto limited = connection::open(path(), lease_clock::now() + 5s).value();
    files.use_up();
    const auto full = limited->rejected(limited->run(("ATTACH '" + path() + "2' AS two").c_str()));
    EXPECT_FALSE(is_outage(full));
    EXPECT_NE(full.detail.find("make room on its disk"), std::string::npos) << full.detail;
    const auto busy = limited->rejected(SQLITE_BUSY);
    EXPECT_TRUE(is_outage(busy));
    EXPECT_NE(busy.detail.find("holds its write lock"), std::string::npos) << busy.detail;
    EXPECT_EQ(name_of(limited->rejected(SQLITE_CORRUPT).code), "protocol");
}

TEST_F(SqliteConnection, AMissingTableIsNoStoreOfOurs) {
    EXPECT_EQ(name_of(rejection_of("INSERT INTO missing VALUES (1)").code), "protocol");
}

}  // namespace
}  // namespace pawl::sqlite
