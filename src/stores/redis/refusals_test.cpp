#include "stores/redis/refusals.hpp"

#include <gtest/gtest.h>

namespace pawl::redis {
namespace {

errc meaning_of(std::string_view error) { return explain_refusal("here:6379", error).code; }

TEST(Refusals, CredentialsAndPrivilegesAreDenied) {
    EXPECT_EQ(meaning_of("NOAUTH Authentication required."), errc::denied);
    EXPECT_EQ(meaning_of("WRONGPASS invalid username-password pair or user is disabled."),
              errc::denied);
    EXPECT_EQ(meaning_of("NOPERM this user has no permissions to run the 'eval' command"),
              errc::denied);
    EXPECT_EQ(meaning_of("ERR The user executing the script can't run this command or subcommand "
                         "script: 1, on @user_script:70."),
              errc::denied);
    EXPECT_EQ(meaning_of("ERR ACL failure in script: User locker has no permissions to run the "
                         "'zadd' command"),
              errc::denied);
}

TEST(Refusals, AServerThatCannotWriteRejects) {
    EXPECT_EQ(meaning_of("READONLY You can't write against a read only replica."), errc::rejected);
    EXPECT_EQ(meaning_of("OOM command not allowed when used memory > 'maxmemory'."),
              errc::rejected);
    EXPECT_EQ(meaning_of("MISCONF Redis is configured to save RDB snapshots"), errc::rejected);
    EXPECT_EQ(meaning_of("MASTERDOWN Link with MASTER is down"), errc::rejected);
}

// What passes by itself is retried freely, as nothing was executed.
TEST(Refusals, AServerThatIsNotReadyIsUnreachable) {
    EXPECT_EQ(meaning_of("LOADING Redis is loading the dataset in memory"), errc::unreachable);
    EXPECT_EQ(meaning_of("BUSY Redis is busy running a script."), errc::unreachable);
}

TEST(Refusals, OldServersAndClustersAreUnsupported) {
    EXPECT_EQ(meaning_of("ERR unknown command `EVALSHA`, with args beginning with:"),
              errc::unsupported);
    EXPECT_EQ(meaning_of("MOVED 3999 127.0.0.1:6381"), errc::unsupported);
}

// Redis 6 and older wrap the error of a command in a script in a sentence of their own.
TEST(Refusals, ACodeInsideAScriptErrorIsFound) {
    EXPECT_EQ(meaning_of("ERR Error running script (call to f_1): @user_script:3: @user_script: 3: "
                         "-READONLY You can't write against a read only replica."),
              errc::rejected);
    EXPECT_EQ(meaning_of("ERR Error running script (call to f_1): @user_script:3: "
                         "-OOM command not allowed when used memory > 'maxmemory'."),
              errc::rejected);
}

TEST(Refusals, TheDetailIsOneBoundedLineWithPlaceAndWords) {
    const auto why = explain_refusal("here:6379", "ERR bad\r\nthing " + std::string(5000, 'x'));
    EXPECT_EQ(why.code, errc::rejected);
    EXPECT_TRUE(why.detail.starts_with("here:6379: ERR bad"));
    EXPECT_EQ(why.detail.find('\n'), std::string::npos);
    EXPECT_LT(why.detail.size(), 400u);
}

}  // namespace
}  // namespace pawl::redis
