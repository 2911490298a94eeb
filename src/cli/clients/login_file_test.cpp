// The file that lets people of this machine log in to an agent without users.
#include "cli/clients/login_file.hpp"
#include "api/auth/token.hpp"
#include "cli/output/status.hpp"
#include "test_support/folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace pawl::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class LoginFile : public testing::Test {
protected:
    LoginFile() { setenv("RUNTIME_DIRECTORY", (folder_ / "run" + ":/elsewhere").c_str(), 1); }
    ~LoginFile() override { unsetenv("RUNTIME_DIRECTORY"); }

    config::agent_settings agent() const {
        config::agent_settings of;
        of.name = "node/one two";
        return of;
    }
    static exit_error rejection(const std::string& path) {
        try {
            login_link_of(path);
        } catch (const exit_error& error) {
            return error;
        }
        return {status::done, ""};
    }

    const testing_files::test_folder folder_;
    const api::login_key key_{"http://127.0.0.1:7295", api::fresh_secret()};
};

TEST_F(LoginFile, LiesInTheFolderOfTheServiceUnderTheNameOfTheAgent) {
    EXPECT_EQ(login_file_path(agent()), folder_ / "run" + "/login-node_one_two");
}

TEST_F(LoginFile, IsForItsOwnUserAloneAndGoesWithTheAgent) {
    const auto path = login_file_path(agent());
    {
        login_file file{agent()};
        file.offer(key_, "link");
        struct stat facts{};
        ASSERT_EQ(::stat(path.c_str(), &facts), 0);
        EXPECT_EQ(facts.st_mode & 0777, 0600);
        EXPECT_THAT(login_link_of(path), StartsWith("http://127.0.0.1:7295/login?once="));
    }
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_EQ(rejection(path).code(), status::unavailable);
}

// An agent that is killed cannot take its file away, and its port may be anybody's by then.
TEST_F(LoginFile, WhatAKilledAgentHasLeftIsNotHonoredAndGoesWithTheNext) {
    const auto path = login_file_path(agent());
    const pid_t killed = ::fork();
    ASSERT_GE(killed, 0);
    if (killed == 0) {
        login_file file{agent()};
        file.offer(key_, "link");
        ::raise(SIGKILL);
    }
    ASSERT_EQ(::waitpid(killed, nullptr, 0), killed);
    ASSERT_TRUE(std::filesystem::exists(path));
    EXPECT_EQ(rejection(path).code(), status::unavailable);
    EXPECT_THAT(rejection(path).what(), HasSubstr("no login link is offered"));
    EXPECT_EQ(offered_login_link(path), std::nullopt);
    // Also one that has users, and offers none.
    const login_file next{agent()};
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(LoginFile, AnAgentThatLivesKeepsItsFileBesideAnotherOfItsName) {
    login_file file{agent()};
    file.offer(key_, "link");
    const login_file other{agent()};
    EXPECT_THAT(login_link_of(login_file_path(agent())), StartsWith("http://127.0.0.1:7295/"));
}

// Goal: an agent that replaces another one of its name, which ends later, keeps its own file.
TEST_F(LoginFile, AnAgentThatEndsTakesItsOwnFileAwayAndNotThatOfTheNext) {
    const auto path = login_file_path(agent());
    login_file next{agent()};
    {
        login_file last{agent()};
        last.offer(key_, "link");
        next.offer({"http://127.0.0.1:7296", api::fresh_secret()}, "link");
    }
    EXPECT_THAT(login_link_of(path), StartsWith("http://127.0.0.1:7296/"));
    next.take_away();
    EXPECT_FALSE(std::filesystem::exists(path));
}

// Goal: what others removed or replaced is offered again with the next link.
TEST_F(LoginFile, IsWrittenAgainWhereItIsNotThereAnyMore) {
    const auto path = login_file_path(agent());
    login_file file{agent()};
    file.offer(key_, "link");
    ASSERT_TRUE(std::filesystem::remove(path));
    file.offer(key_, "link");
    EXPECT_THAT(login_link_of(path), StartsWith("http://127.0.0.1:7295/"));
    {
        login_file other{agent()};
        other.offer({"http://127.0.0.1:7296", api::fresh_secret()}, "link");
        file.offer(key_, "link");
    }
    EXPECT_THAT(login_link_of(path), StartsWith("http://127.0.0.1:7295/"));
}

TEST_F(LoginFile, WhatIsNoneIsToldApartFromWhatIsNotThere) {
    const auto path = folder_.write("text", "hello\n");
    EXPECT_EQ(rejection(path).code(), status::configuration);
    EXPECT_THAT(rejection(path).what(), HasSubstr("not a file of login links"));
    EXPECT_EQ(rejection(folder_ / "absent").code(), status::unavailable);
}

}  // namespace
}  // namespace pawl::cli
