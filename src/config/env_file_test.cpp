#include "config/env_file.hpp"

#include "config/config_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

namespace pawl::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(EnvFile, ReadsNamesAndValues) {
    const auto got = parse_env_file(
        "\xEF\xBB\xBF# secrets\r\n\r\nB=two words \r\n  A = \"q\" \n"
        "C='#x'\nD=\nE=a=b\nA=last");
    EXPECT_EQ(got.fault, "");
    EXPECT_EQ(got.variables,
              (std::vector<variable>{
                  {"A", "last"}, {"B", "two words"}, {"C", "#x"}, {"D", ""}, {"E", "a=b"}}));
}

// The line itself may be the secret.
TEST(EnvFile, AFaultNamesTheLineAndQuotesNothing) {
    for (const std::string line : {"hunter2", "PAWL_X=hunter2", "hunter2 x=1", "=hunter2"}) {
        const auto got = parse_env_file("A=1\n" + line);
        EXPECT_THAT(got.fault, HasSubstr("line 2: ")) << line;
        EXPECT_THAT(got.fault, Not(HasSubstr("hunter2")));
        EXPECT_TRUE(got.variables.empty());
    }
    EXPECT_THAT(parse_env_file(std::string("A=\0x", 4)).fault, HasSubstr("NUL byte"));
    std::string many;
    for (int i = 0; i <= 10'000; ++i) many += "V" + std::to_string(i) + "=\n";
    EXPECT_EQ(parse_env_file(many).fault, "line 10001: more than 10,000 variables");
}

TEST(EnvFile, IsReadBesideTheConfigurationAndStaysApartFromEnv) {
    const test_folder here;
    const auto secrets = here.write("secret.env", "TOKEN=hunter2\n");
    ASSERT_EQ(chmod(secrets.c_str(), 0640), 0);
    const auto path = here.write("pawl.toml",
                                 "[[job]]\nname='a'\ncommand=['x']\n"
                                 "env={TOKEN='public'}\nenv_file='secret.env'\n");
    auto read = read_configuration_file(path);
    ASSERT_TRUE(read.usable()) << describe(read)[0];
    EXPECT_EQ(read.values.jobs[0].env, (std::vector<variable>{{"TOKEN", "public"}}));
    EXPECT_EQ(read.values.jobs[0].secrets, (std::vector<variable>{{"TOKEN", "hunter2"}}));
    EXPECT_TRUE(read.warnings.empty());

    ASSERT_EQ(chmod(secrets.c_str(), 0644), 0);
    EXPECT_THAT(describe_warnings(read_configuration_file(path)),
                ElementsAre(HasSubstr(":5:1: env_file 'secret.env' can be read by every user")));
}

// What a job's user put there, root would read; what the owner of the configuration put there
// says no more than the configuration does.
TEST(EnvFile, IsOfTheConfigurationsOwnerOrItsReader) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
    const test_folder here;
    const auto secrets = here.write("secret.env", "TOKEN=hunter2\n");
    ASSERT_EQ(chmod(secrets.c_str(), 0640), 0);
    const auto path =
        here.write("pawl.toml", "[[job]]\nname='a'\ncommand=['x']\nenv_file='secret.env'\n");
    EXPECT_TRUE(read_configuration_file(path).usable());
    ASSERT_EQ(chown(secrets.c_str(), 65'534, 65'534), 0);
    const auto rejected = read_configuration_file(path);
    EXPECT_THAT(describe(rejected),
                ElementsAre(HasSubstr(":4:1: env_file 'secret.env' belongs to the user with ID "
                                      "65534; expected root, ")));
    ASSERT_EQ(chown(here.path().c_str(), 65'534, 65'534), 0);
    EXPECT_TRUE(read_configuration_file(path).usable());
    // As containers mount single files: with the owner that they have outside.
    ASSERT_EQ(chown(here.path().c_str(), 0, 0), 0);
    EXPECT_FALSE(read_configuration_file(path).usable());
    ASSERT_EQ(chown(path.c_str(), 65'534, 65'534), 0);
    EXPECT_TRUE(read_configuration_file(path).usable());
}

// As releases are switched: by a link of the user who deploys.
TEST(EnvFile, IsReadBesideAConfigurationThatAnotherUsersLinkLeadsTo) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give a link away";
    const test_folder here;
    ASSERT_EQ(mkdir((here / "v1").c_str(), 0700), 0);
    const auto secrets = here.write("v1/secret.env", "TOKEN=hunter2\n");
    ASSERT_EQ(chmod(secrets.c_str(), 0640), 0);
    here.write("v1/pawl.toml", "[[job]]\nname='a'\ncommand=['x']\nenv_file='secret.env'\n");
    ASSERT_EQ(symlink("v1", (here / "current").c_str()), 0);
    ASSERT_EQ(lchown((here / "current").c_str(), 65'534, 65'534), 0);
    const auto read = read_configuration_file(here / "current/pawl.toml");
    ASSERT_TRUE(read.usable()) << describe(read)[0];
    EXPECT_EQ(read.values.jobs[0].secrets, (std::vector<variable>{{"TOKEN", "hunter2"}}));
}

TEST(EnvFile, HasABound) {
    const test_folder here;
    const auto path = here.write("pawl.toml",
                                 "[[job]]\nname='a'\ncommand=['x']\n"
                                 "env_file='big'\n");
    here.write("big", std::string(env_file_bytes_max, '\n'));
    EXPECT_TRUE(read_configuration_file(path).usable());
    here.write("big", std::string(env_file_bytes_max + 1, '\n'));
    EXPECT_THAT(describe(read_configuration_file(path)),
                ElementsAre(HasSubstr("env_file 'big' has more than 1,048,576 bytes")));
}

}  // namespace
}  // namespace pawl::config
