#include "engines/redis/client/error_mapping.hpp"

#include <gtest/gtest.h>

namespace pawl::redis {
namespace {

errc meaning_of(std::string_view error) { return explain_rejection("here:6379", error).code; }

TEST(Rejections, CredentialsAndPrivilegesAreDenied) {
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

TEST(Rejections, WhatNoWaitingHelpsIsRejected) {
    EXPECT_EQ(meaning_of("READONLY You can't write against a read only replica."),
              errc::unreachable);
    EXPECT_EQ(meaning_of("WRONGTYPE Operation against a key holding the wrong kind of value"),
              errc::rejected);
    EXPECT_EQ(meaning_of("ERR value is not an integer or out of range"), errc::rejected);
}

// Nothing was executed, and it may pass; but the server is there, so no outage policy applies.
TEST(Rejections, AServerThatCannotWriteForNowIsUnreachableButNoOutage) {
    for (const auto* error :
         {"OOM command not allowed when used memory > 'maxmemory'.",
          "MISCONF Redis is configured to save RDB snapshots",
          "MASTERDOWN Link with MASTER is down", "NOREPLICAS Not enough good replicas to write."}) {
        const auto why = explain_rejection("here:6379", error);
        EXPECT_EQ(name_of(why.code), "unreachable") << error;
        EXPECT_FALSE(is_outage(why)) << error;
        EXPECT_NE(why.detail.find(error), std::string::npos) << why.detail;
    }
}

// What passes by itself is retried freely, as nothing was executed.
TEST(Rejections, AServerThatIsNotReadyIsUnreachable) {
    EXPECT_EQ(meaning_of("LOADING Redis is loading the dataset in memory"), errc::unreachable);
    EXPECT_EQ(meaning_of("BUSY Redis is busy running a script."), errc::unreachable);
    EXPECT_TRUE(is_outage(explain_rejection("here:6379", "LOADING Redis is loading")));
}

TEST(Rejections, OldServersAndClustersAreUnsupported) {
    EXPECT_EQ(meaning_of("ERR unknown command `EVALSHA`, with args beginning with:"),
              errc::unsupported);
    EXPECT_EQ(meaning_of("MOVED 3999 127.0.0.1:6381"), errc::unsupported);
}

TEST(Rejections, ARedirectionSaysWhichSlotIsWhere) {
    const auto moved = read_redirection("MOVED 3999 127.0.0.1:6381");
    ASSERT_TRUE(moved);
    EXPECT_EQ(moved->how, redirection::kind::moved);
    EXPECT_EQ(moved->slot, 3999u);
    EXPECT_EQ(moved->to, (server_address{"127.0.0.1", 6381}));
    const auto ask = read_redirection("ASK 7 fe80::1:6379");
    ASSERT_TRUE(ask);
    EXPECT_EQ(ask->how, redirection::kind::ask);
    EXPECT_EQ(ask->to, (server_address{"fe80::1", 6379}));
    EXPECT_EQ(read_redirection("MOVED 1 :6379")->to, (server_address{"", 6379}));
    for (const auto* text : {"MOVED", "MOVED 1", "MOVED x h:1", "MOVED 1 h", "MOVED 1 h:0",
                             "MOVED 1 h:99999", "MOVED 1 h:1x", "ASKING 1 h:1", "ERR"})
        EXPECT_FALSE(read_redirection(text)) << text;
}

TEST(Rejections, AClusterInMotionIsToldFromOneThatRejects) {
    EXPECT_TRUE(is_cluster_in_motion("TRYAGAIN Multiple keys request during rehashing of slot"));
    EXPECT_TRUE(is_cluster_in_motion("CLUSTERDOWN The cluster is down"));
    EXPECT_TRUE(
        is_cluster_in_motion("ERR Script attempted to access a non local key in a cluster"));
    EXPECT_FALSE(is_cluster_in_motion("OOM command not allowed"));
    EXPECT_FALSE(is_cluster_in_motion("NOPERM this user has no permissions"));
}

// Redis 6 and older wrap the error of a command in a script in a sentence of their own.
TEST(Rejections, ACodeInsideAScriptErrorIsFound) {
    EXPECT_EQ(meaning_of("ERR Error running script (call to f_1): @user_script:3: @user_script: 3: "
                         "-READONLY You can't write against a read only replica."),
              errc::unreachable);
    EXPECT_EQ(meaning_of("ERR Error running script (call to f_1): @user_script:3: "
                         "-OOM command not allowed when used memory > 'maxmemory'."),
              errc::unreachable);
}

TEST(Rejections, TheDetailIsOneBoundedLineWithPlaceAndWords) {
    const auto why = explain_rejection("here:6379", "ERR bad\r\nthing " + std::string(5000, 'x'));
    EXPECT_EQ(why.code, errc::rejected);
    EXPECT_TRUE(why.detail.starts_with("here:6379: ERR bad"));
    EXPECT_EQ(why.detail.find('\n'), std::string::npos);
    EXPECT_LT(why.detail.size(), 400u);
}

}  // namespace
}  // namespace pawl::redis
