#include "engines/sqlite/client/connection.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

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
    failure refusal_of(const char* statements) {
        const int code = on().run(statements);
        EXPECT_NE(code, SQLITE_OK);
        return on().refused(code);
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
    const auto why = refusal_of("INSERT INTO t VALUES (randomblob(100000))");
    EXPECT_EQ(name_of(why.code), "unreachable");
    EXPECT_FALSE(is_outage(why));
    EXPECT_NE(why.detail.find("make room on its disk"), std::string::npos) << why.detail;
    ASSERT_EQ(on().run("PRAGMA max_page_count = 1000"), SQLITE_OK);
    EXPECT_EQ(on().run("INSERT INTO t VALUES (randomblob(100000))"), SQLITE_OK);
}

TEST_F(SqliteConnection, AMissingTableIsNoStoreOfOurs) {
    EXPECT_EQ(name_of(refusal_of("INSERT INTO missing VALUES (1)").code), "protocol");
}

}  // namespace
}  // namespace pawl::sqlite
