#include "engines/sqlite/client/wake_file.hpp"

#include "test_support/folder.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace pawl::sqlite {
namespace {

// Goal: all who may use the database may wake its waiters. Method: the first to wait has a umask
// that leaves nothing to others, and may be root.
TEST(WakeFile, HasTheModeOfItsDatabaseAndItsOwner) {
    const testing_files::test_folder folder;
    const auto database = folder / "pawl.db", path = database + "-wake";
    std::ofstream{database}.put('x');
    ASSERT_EQ(::chmod(database.c_str(), 0660), 0);
    const bool is_root = ::geteuid() == 0;
    if (is_root) {
        ASSERT_EQ(::chown(database.c_str(), 12'345, 23'456), 0);
    }
    wake_file waiting{path, database};
    const auto before = ::umask(077);
    const auto fault = waiting.watch();
    ::umask(before);
    ASSERT_FALSE(fault) << fault->detail;
    struct stat of_database{}, seen{};
    ASSERT_EQ(::stat(database.c_str(), &of_database), 0);
    ASSERT_EQ(::stat(path.c_str(), &seen), 0);
    EXPECT_EQ(seen.st_mode & 0777, 0660u);
    EXPECT_EQ(seen.st_uid, of_database.st_uid);
    EXPECT_EQ(seen.st_gid, of_database.st_gid);
}

}  // namespace
}  // namespace pawl::sqlite
