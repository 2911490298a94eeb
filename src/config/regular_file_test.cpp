#include "config/regular_file.hpp"

#include "test_support/folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace pawl::config {
namespace {

using testing::HasSubstr;
using testing_files::test_folder;

constexpr uid_t root = 0;
constexpr uid_t stranger = 65'534;
constexpr std::size_t plenty = 1u << 20;
const std::string roots_own = "/etc/passwd";

// As if another user than root had made it: the user of the tests has, where that is not root.
void give_away(const std::string& path) {
    if (geteuid() != root) return;
    ASSERT_EQ(lchown(path.c_str(), stranger, stranger), 0);
}

TEST(RegularFile, OfTheseUsersIsRead) {
    const test_folder here;
    const auto file = here.write("file", "A=1\n");
    EXPECT_EQ(read_file_of({geteuid()}, "/", file, plenty).text, "A=1\n");
    EXPECT_EQ(read_file_of({root}, "/", roots_own, plenty).text,
              read_regular_file(roots_own, plenty).text);
    give_away(file);
    const auto rejected = read_file_of({root}, "/", file, plenty);
    EXPECT_EQ(rejected.text, "");
    EXPECT_THAT(rejected.fault, HasSubstr("belongs to the user with ID"));
}

// Root follows whatever link a job's user makes.
TEST(RegularFile, IsNotReadThroughAnotherUsersLink) {
    const test_folder here;
    ASSERT_EQ(symlink(roots_own.c_str(), (here / "link").c_str()), 0);
    ASSERT_EQ(symlink("/etc", (here / "etc").c_str()), 0);
    for (const auto* link : {"link", "etc"}) give_away(here / link);
    for (const auto* path : {"link", "etc/passwd", "./etc//passwd"}) {
        ASSERT_NE(read_regular_file(here / path, plenty).text, "") << path;
        const auto rejected = read_file_of({root}, "/", here / path, plenty);
        EXPECT_EQ(rejected.text, "") << path;
        EXPECT_THAT(rejected.fault, HasSubstr("is reached by a symbolic link")) << path;
    }
}

// As Kubernetes keeps secrets: by a link to a link to a folder.
TEST(RegularFile, IsReadThroughLinksOfTheseUsers) {
    const test_folder here;
    ASSERT_EQ(mkdir((here / "v1").c_str(), 0700), 0);
    here.write("v1/file", "A=1\n");
    ASSERT_EQ(symlink("v1", (here / "data").c_str()), 0);
    ASSERT_EQ(symlink("data/../data/file", (here / "relative").c_str()), 0);
    ASSERT_EQ(symlink((here / "relative").c_str(), (here / "absolute").c_str()), 0);
    const std::vector<uid_t> owners{root, geteuid()};
    for (const auto* path : {"v1/file", "data/file", "relative", "absolute", "v1/.././absolute"})
        EXPECT_EQ(read_file_of(owners, "/", here / path, plenty).text, "A=1\n") << path;
}

// The way to the base was gone before, and the owner of a link of it had the choice then.
TEST(RegularFile, IsReadInABaseThatAnotherUsersLinkLeadsTo) {
    const test_folder here;
    ASSERT_EQ(mkdir((here / "v1").c_str(), 0700), 0);
    here.write("v1/file", "A=1\n");
    ASSERT_EQ(symlink("file", (here / "v1/link").c_str()), 0);
    ASSERT_EQ(symlink("v1", (here / "current").c_str()), 0);
    ASSERT_EQ(symlink("/etc", (here / "v1/etc").c_str()), 0);
    for (const auto* link : {"current", "v1/etc"}) give_away(here / link);
    const std::vector<uid_t> owners{root, geteuid()};
    for (const auto* path : {"file", "link", "../v1/link"})
        EXPECT_EQ(read_file_of(owners, here / "current", path, plenty).text, "A=1\n") << path;
    EXPECT_THAT(read_file_of({root}, here / "current", "etc/passwd", plenty).fault,
                HasSubstr("is reached by a symbolic link"));
}

TEST(RegularFile, AFaultIsThatOfReadingIt) {
    const test_folder here;
    here.write("file", "A=1\n");
    ASSERT_EQ(symlink("loop", (here / "loop").c_str()), 0);
    ASSERT_EQ(mkfifo((here / "pipe").c_str(), 0600), 0);
    const std::vector<uid_t> owners{root, geteuid()};
    for (const auto* path : {"none", "none/file", "loop", "pipe", "file/file", "."})
        EXPECT_EQ(read_file_of(owners, "/", here / path, plenty).fault,
                  read_regular_file(here / path, plenty).fault)
            << path;
    EXPECT_EQ(read_file_of(owners, ".", "/", plenty).fault, "is not a regular file");
    EXPECT_THAT(read_file_of(owners, "/", here / "file", 1).fault,
                HasSubstr("has more than 1 bytes"));
}

}  // namespace
}  // namespace pawl::config
