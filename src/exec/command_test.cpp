#include "exec/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>

namespace pawl::exec {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

command full_command() {
    command wanted{{"report", "", "two words"}};
    wanted.environment = {"A=1", "EMPTY="};
    wanted.working_directory = "/srv";
    wanted.user = identity{1000, 1001, {4, 27}};
    wanted.place = placement::foreground;
    wanted.resource_limits = {{RLIMIT_NOFILE, 64, 128}, {RLIMIT_CORE, 0, RLIM_INFINITY}};
    wanted.file_mask = 027;
    wanted.nice = -5;
    return wanted;
}

// What travels to the guard must arrive as it left: encode, decode, compare each field.
TEST(Command, ArrivesAtTheGuardAsItLeft) {
    const command sent = full_command();
    const auto arrived = decode(encode(sent));
    ASSERT_TRUE(arrived);
    EXPECT_EQ(arrived->arguments, sent.arguments);
    EXPECT_EQ(arrived->environment, sent.environment);
    EXPECT_EQ(arrived->working_directory, sent.working_directory);
    EXPECT_EQ(arrived->user, sent.user);
    EXPECT_EQ(arrived->place, sent.place);
    EXPECT_EQ(arrived->resource_limits, sent.resource_limits);
    EXPECT_EQ(arrived->file_mask, sent.file_mask);
    EXPECT_EQ(arrived->nice, sent.nice);
}

// A guard must not run half a command: every prefix of an encoded command is rejected.
TEST(Command, CutShortIsRejected) {
    const std::string whole = encode(full_command());
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_FALSE(decode(whole.substr(0, size))) << size;
    }
    EXPECT_FALSE(decode(whole + "x"));
}

// Variables of the caller replace inherited ones of the same name, and of no longer name.
TEST(Command, VariablesReplaceInheritedOnesOfTheSameName) {
    setenv("EXEC_TEST", "old", 1);
    setenv("EXEC_TEST_LONGER", "kept", 1);
    const auto all = environment_with({{"EXEC_TEST", "new"}});
    EXPECT_THAT(all, Contains("EXEC_TEST=new").Times(1));
    EXPECT_THAT(all, Contains("EXEC_TEST_LONGER=kept").Times(1));
    EXPECT_THAT(all, Not(Contains("EXEC_TEST=old")));
}

// The statuses that shells give: 128+N, 127 and 126, and a line that says what was wrong.
TEST(Command, FaultsReadAsAShellSaysThem) {
    exit_status killed;
    killed.signal = 15;
    EXPECT_EQ(killed.as_shell(), 143);
    command wanted{{"frobnicate"}};
    wanted.working_directory = "/nowhere";
    EXPECT_EQ((spawn_fault{stage::execute, ENOENT}.as_shell()), 127);
    EXPECT_EQ((spawn_fault{stage::execute, EACCES}.as_shell()), 126);
    EXPECT_EQ((spawn_fault{stage::working_directory, ENOENT}.as_shell()), 126);
    EXPECT_EQ((spawn_fault{stage::execute, ENOENT}.describe(wanted)),
              "cannot run 'frobnicate': not found in PATH");
    EXPECT_EQ((spawn_fault{stage::execute, EACCES}.describe(wanted)),
              "cannot run 'frobnicate': Permission denied");
    EXPECT_THAT((spawn_fault{stage::working_directory, ENOENT}.describe(wanted)),
                HasSubstr("cannot enter '/nowhere'"));
    EXPECT_EQ((spawn_fault{stage::guard, EBUSY}.describe(wanted)),
              "cannot run 'frobnicate': its guard did not start: the process that starts guards "
              "does not answer");
    EXPECT_EQ((spawn_fault{stage::guard, ENOTRECOVERABLE}.describe(wanted)),
              "the guard of 'frobnicate' did not answer and was killed while it was being started: "
              "it may have run");
}

// What the machine lacked says nothing of the command; what is wrong with the command does, and
// what may have run is not repeated.
TEST(Command, OfWhichNothingRanForWantOfResourcesMayRunLater) {
    for (const int error : {EMFILE, ENFILE, EAGAIN, ENOMEM, EFBIG, ENOSPC, EBUSY, ESRCH, ECHILD})
        EXPECT_TRUE((spawn_fault{stage::guard, error}.lacked_resources())) << error;
    for (const int error : {E2BIG, EBADF, ETIME, ETIMEDOUT, EOWNERDEAD, ENOTRECOVERABLE})
        EXPECT_FALSE((spawn_fault{stage::guard, error}.lacked_resources())) << error;
    for (const int error : {EMFILE, ENFILE, ENOMEM})
        EXPECT_TRUE((spawn_fault{stage::execute, error}.lacked_resources())) << error;
    for (const int error : {ENOENT, EACCES, EAGAIN})
        EXPECT_FALSE((spawn_fault{stage::execute, error}.lacked_resources())) << error;
}

}  // namespace
}  // namespace pawl::exec
