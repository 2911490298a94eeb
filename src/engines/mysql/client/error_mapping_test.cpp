#include "engines/mysql/client/error_mapping.hpp"
#include "engines/mysql/client/session.hpp"

#include <gtest/gtest.h>

namespace pawl::mysql {
namespace {

errc code_of(unsigned number) { return explain_rejection("db:3306", {number, "words"}).code; }
errc connecting(unsigned number, const std::string& words = "words") {
    return explain_connecting("db:3306", {number, words}).code;
}

TEST(MysqlRejections, EachErrorSaysWhatTheCallerMayDo) {
    for (const unsigned denied : {1044u, 1045u, 1142u, 1227u, 1698u})
        EXPECT_EQ(code_of(denied), errc::denied) << denied;
    for (const unsigned passing :
         {1040u, 1135u, 1203u, 1205u, 1206u, 1213u, 1290u, 1297u, 1412u, 1637u,
          1792u, 1836u, 1874u, 2006u, 3032u, 3100u, 3101u, 3168u, 3572u, 4031u})
        EXPECT_EQ(code_of(passing), errc::unreachable) << passing;
    for (const unsigned unknown :
         {1053u, 1160u, 1161u, 1180u, 1317u, 1927u, 1969u, 2013u, 2027u, 3169u})
        EXPECT_EQ(code_of(unknown), errc::outcome_unknown) << unknown;
    for (const unsigned rejected : {1153u, 1406u})
        EXPECT_EQ(code_of(rejected), errc::rejected) << rejected;
    for (const unsigned full : {1021u, 1037u, 1041u, 1114u}) {
        const auto why = explain_rejection("db:3306", {full, "words"});
        EXPECT_EQ(why.code, errc::unreachable) << full;
        // Others may hold the key: no outage policy applies.
        EXPECT_FALSE(is_outage(why)) << full;
    }
    EXPECT_EQ(code_of(1049), errc::unsupported);
    EXPECT_EQ(code_of(1665), errc::unsupported);
    for (const unsigned lost : {1210u, 1243u, 1615u})
        EXPECT_TRUE(lost_prepared_statement({lost, {}})) << lost;
    EXPECT_FALSE(lost_prepared_statement({1213, {}}));
}

// Goal: a job that may run without a lease does not while the server answers, as who holds the key
// may go on. Method: what a full server, a locked row and a read-only server say, beside others.
TEST(MysqlRejections, AServerThatCannotWriteIsNoOutage) {
    for (const unsigned number : {1021U, 1114U, 1205U, 1290U, 1792U, 1836U, 1874U, 3572U})
        EXPECT_TRUE(explain_rejection("db:3306", {number, "words"}).answered) << number;
    for (const unsigned number : {1040U, 1213U, 3032U})
        EXPECT_FALSE(explain_rejection("db:3306", {number, "words"}).answered) << number;
}

// Goal: what the server did not execute is sent again, and nothing else: a claim that was executed
// must not be thought to be lost.
TEST(MysqlRejections, WhatTheServerDidNotExecuteIsSentAgain) {
    for (const unsigned unread : {1158u, 1159u, 2006u, 3032u, 4031u}) {
        EXPECT_TRUE(was_not_executed({unread, {}})) << unread;
        EXPECT_EQ(code_of(unread), errc::unreachable) << unread;
    }
    for (const unsigned other : {1053u, 1161u, 1317u, 1927u, 2013u, 2027u, 1062u, 1205u})
        EXPECT_FALSE(was_not_executed({other, {}})) << other;
    for (const unsigned rolled_back : {1205u, 1213u, 3101u})
        EXPECT_TRUE(is_conflict({rolled_back, {}})) << rolled_back;
    EXPECT_FALSE(is_conflict({1180, {}}));
}

// Nothing but the log-in was asked, so nothing can have had effect.
TEST(MysqlRejections, AnAttemptToConnectNeverHasAnUnknownOutcome) {
    for (unsigned number = 1000; number < 6000; ++number)
        EXPECT_NE(connecting(number), errc::outcome_unknown) << number;
    for (const unsigned passing : {1040u, 1053u, 1135u, 1203u, 2002u, 3032u})
        EXPECT_EQ(connecting(passing), errc::unreachable) << passing;
    EXPECT_EQ(connecting(2007), errc::protocol);
    EXPECT_EQ(connecting(2059), errc::unsupported);
    EXPECT_EQ(connecting(2026, "TLS/SSL error: certificate has expired"), errc::denied);
    EXPECT_EQ(connecting(2026, "TLS/SSL error: wrong version number"), errc::protocol);
    EXPECT_EQ(connecting(2026, "SSL is required, but the server does not support it"),
              errc::unsupported);
}

TEST(MysqlRejections, ADetailIsOneLineThatBeginsWithThePlace) {
    const auto why =
        explain_rejection("db:3306", {1045, "Access\ndenied " + std::string(900, 'x')});
    EXPECT_TRUE(why.detail.starts_with("db:3306: Access?denied"));
    EXPECT_NE(why.detail.find("(error 1045; "), std::string::npos);
    EXPECT_LT(why.detail.size(), 500u);
}

TEST(MysqlRejections, TheVersionNamesItsEngine) {
    EXPECT_EQ(engine_of("10.11.19-MariaDB-0+deb12u1"), "MariaDB 10.11.19");
    EXPECT_EQ(engine_of("8.0.36"), "MySQL 8.0.36");
    EXPECT_EQ(engine_of("8.4.0-commercial"), "MySQL 8.4.0");
}

}  // namespace
}  // namespace pawl::mysql
