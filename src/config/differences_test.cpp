#include "config/config_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

configuration_changes between(const std::string& before, const std::string& after) {
    return differences(read_whole(before), read_whole(after));
}

std::string job(const std::string& name, const std::string& more = "") {
    return "[[job]]\nname='" + name + "'\ncommand=['x']\n" + more + "\n";
}

TEST(Differences, ThereAreNoneWhenOnlyTheTextHasChanged) {
    EXPECT_TRUE(
        between(job("a") + job("b"), "# moved\n\n" + job("b", "ttl='30s'") + job("a")).empty());
}

TEST(Differences, NameWhatIsNewGoneAndChanged) {
    const auto changes = between(job("a") + job("b") + job("c"),
                                 job("b", "ttl='1m'\nretries.max=2") + job("c") + job("d"));
    EXPECT_THAT(changes.added, ElementsAre("d"));
    EXPECT_THAT(changes.removed, ElementsAre("a"));
    EXPECT_THAT(changes.changed, ElementsAre("b"));
    EXPECT_THAT(changes.lines, ElementsAre("the job 'b' has changed: retries, ttl",
                                           "the job 'd' is new", "the job 'a' is gone"));
    EXPECT_THAT(changes.restarts, ElementsAre());
}

TEST(Differences, SayWhatTakesARestart) {
    const std::string tls = "tls={cert='a',key='b'}\n";
    const auto changes =
        between("[agent]\nname='a'\n",
                "store='sqlite:x'\njournal='memory:'\n[agent]\nname='b'\nlisten='127.0.0.1:1'\n"
                "max_concurrent_runs=3\nshutdown_grace='1s'\n" +
                    tls);
    EXPECT_THAT(
        changes.restarts,
        ElementsAre(HasSubstr("store has"), HasSubstr("journal has"), HasSubstr("agent.name has"),
                    HasSubstr("agent.listen has"), HasSubstr("agent.max_concurrent_runs has"),
                    HasSubstr("agent.shutdown_grace has"), HasSubstr("agent.tls has")));
    EXPECT_THAT(changes.lines, ElementsAre());
}

TEST(Differences, ShowNoSecret) {
    const test_folder here;
    here.write("a", "A=hunter1");
    const auto text = job("j", "env_file='" + (here.path() / "a").string() + "'") +
                      "[[user]]\nname='u'\nrole='admin'\ntoken_hash='$argon2id$hunter";
    const auto before = read_whole(text + "1'");
    here.write("a", "A=hunter2");
    const auto changes = differences(before, read_whole(text + "2'"));
    EXPECT_THAT(changes.lines, ElementsAre("the user 'u' has changed: token_hash",
                                           "the job 'j' has changed: env_file"));
    const auto stores = between("store='redis://:hunter1@h'", "store='redis://:hunter2@h'");
    EXPECT_THAT(stores.restarts, ElementsAre(Not(HasSubstr("hunter"))));
}

// Goal: a file that was cut off or emptied ends no schedule. Method: what is in force, beside each
// file that could take its place.
TEST(Differences, AFileThatTakesAllJobsAwayIsNotMeant) {
    const std::string user = "[[user]]\nname='u'\nrole='admin'\ntoken_hash='$argon2id$x'\n";
    const auto why = [](const std::string& before, const std::string& after) {
        return emptied_fault(read_whole(before), read_configuration(after, "f.toml")).value_or("");
    };
    EXPECT_EQ(why(job("a") + job("b") + user, ""),
              "f.toml: sets nothing, although this agent has 2 jobs and 1 user; restart the agent "
              "to run it without");
    EXPECT_THAT(why(job("a"), "# nothing yet\n"), HasSubstr("has 1 job; restart"));
    EXPECT_THAT(why(job("a") + user, user), HasSubstr("has no [[job]], although"));
    EXPECT_THAT(why(user, "\n"), HasSubstr("sets nothing, although this agent has 1 user"));
    // Each of these is a request of a user.
    EXPECT_EQ(why(job("a") + job("b"), job("b")), "");
    EXPECT_EQ(why(job("a"), job("b")), "");
    EXPECT_EQ(why(user, "[agent]\nname='a'\n"), "");
    EXPECT_EQ(why("", ""), "");
}

// Goal: an API that other machines reach keeps its users. Method: a file that is valid as it is, as
// it also closes the API; but an agent that runs listens where it did.
TEST(Differences, AFileThatTakesAllUsersAwayIsNotMeantForAnOpenApi) {
    const auto why = [](const std::string& host, const std::string& after) {
        return open_without_users_fault({host, 7295}, read_configuration(after, "f.toml"))
            .value_or("");
    };
    const std::string closed = "[agent]\nlisten='127.0.0.1:7295'\n";
    const std::string user = "[[user]]\nname='u'\nrole='admin'\ntoken_hash='$argon2id$x'\n";
    EXPECT_EQ(
        why("0.0.0.0", closed + job("a")),
        "f.toml: has no [[user]], although this agent serves '0.0.0.0' to other machines; add "
        "one, or restart the agent to listen on 127.0.0.1");
    EXPECT_EQ(why("0.0.0.0", closed + job("a") + user), "");
    EXPECT_EQ(why("127.0.0.1", job("a")), "");
}

}  // namespace
}  // namespace pawl::config
