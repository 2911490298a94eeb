#include "exec/folder.hpp"

#include "exec/exec_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace pawl::exec {
namespace {

// Where the next folder is made while RUNTIME_DIRECTORY is that one.
std::string made_under(const std::string& runtime_directory) {
    setenv("RUNTIME_DIRECTORY", runtime_directory.c_str(), 1);
    const auto made = make_folder();
    unsetenv("RUNTIME_DIRECTORY");
    remove_folder(made);
    return made;
}

// Goal: a process that has run no command for days finds its folder again. Method: as a cleaner of
// old files leaves it, and as another that takes its name.
TEST(Folder, IsMadeAnewWhereItIsGone) {
    const crash::scratch_folder outer;
    setenv("RUNTIME_DIRECTORY", outer.path().c_str(), 1);
    const auto path = make_folder();
    unsetenv("RUNTIME_DIRECTORY");
    ASSERT_THAT(path, testing::StartsWith(outer.path()));
    EXPECT_EQ(restore_folder(path), 0);
    ASSERT_EQ(rmdir(path.c_str()), 0);
    EXPECT_EQ(restore_folder(path), 0);
    struct stat about{};
    ASSERT_EQ(stat(path.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 07777, 0711u);
    remove_folder(path);
    ASSERT_EQ(symlink("/tmp", path.c_str()), 0);
    EXPECT_EQ(restore_folder(path), EACCES);
    EXPECT_EQ(restore_folder(outer.file("absent") + "/folder"), ENOENT);
}

// Goal: a job that root runs as another user gets to its socket. Method: folders that are closed to
// others, and in such a one. Others' commands run as themselves, and need no way in for others.
TEST(Folder, RootsLiesWhereOthersMayPass) {
    const crash::scratch_folder outer;
    const auto inner = outer.file("inner");
    ASSERT_EQ(mkdir(inner.c_str(), 0755), 0);
    const bool is_root = geteuid() == 0;
    const struct {
        mode_t of_outer, of_inner;
        bool is_open;
    } cases[] = {{0711, 0711, true}, {0711, 0700, false}, {0700, 0711, false}, {0755, 0755, true}};
    for (const auto& one : cases) {
        ASSERT_EQ(chmod(inner.c_str(), one.of_inner), 0);
        ASSERT_EQ(chmod(outer.path().c_str(), one.of_outer), 0);
        const auto made = made_under(inner);
        ASSERT_NE(made, "");
        EXPECT_EQ(made.starts_with(inner + "/"), one.is_open || !is_root) << made;
    }
}

}  // namespace
}  // namespace pawl::exec
