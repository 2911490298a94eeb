#include "engines/mysql/client/refusals.hpp"
#include "engines/mysql/client/session.hpp"

#include <gtest/gtest.h>

namespace pawl::mysql {
namespace {

errc code_of(unsigned number) { return explain_refusal("db:3306", {number, "words"}).code; }
errc connecting(unsigned number, const std::string& words = "words") {
    return explain_connecting("db:3306", {number, words}).code;
}

TEST(MysqlRefusals, EachErrorSaysWhatTheCallerMayDo) {
    for (const unsigned denied : {1044u, 1045u, 1142u, 1227u, 1698u})
        EXPECT_EQ(code_of(denied), errc::denied) << denied;
    for (const unsigned passing : {1040u, 1205u, 1213u, 1290u, 1792u, 2006u})
        EXPECT_EQ(code_of(passing), errc::unreachable) << passing;
    for (const unsigned unknown : {1053u, 1180u, 1317u, 1927u, 1969u, 2013u, 2027u})
        EXPECT_EQ(code_of(unknown), errc::outcome_unknown) << unknown;
    for (const unsigned refused : {1021u, 1114u, 1153u, 1406u})
        EXPECT_EQ(code_of(refused), errc::rejected) << refused;
    EXPECT_EQ(code_of(1049), errc::unsupported);
    EXPECT_EQ(code_of(1665), errc::unsupported);
    for (const unsigned lost : {1210u, 1243u, 1615u})
        EXPECT_TRUE(lost_prepared_statement({lost, {}})) << lost;
    EXPECT_FALSE(lost_prepared_statement({1213, {}}));
}

// Nothing but the log-in was asked, so nothing can have had effect.
TEST(MysqlRefusals, AnAttemptToConnectNeverHasAnUnknownOutcome) {
    for (unsigned number = 1000; number < 6000; ++number)
        EXPECT_NE(connecting(number), errc::outcome_unknown) << number;
    EXPECT_EQ(connecting(2002), errc::unreachable);
    EXPECT_EQ(connecting(2007), errc::protocol);
    EXPECT_EQ(connecting(2059), errc::unsupported);
    EXPECT_EQ(connecting(2026, "TLS/SSL error: certificate has expired"), errc::denied);
    EXPECT_EQ(connecting(2026, "TLS/SSL error: wrong version number"), errc::protocol);
    EXPECT_EQ(connecting(2026, "SSL is required, but the server does not support it"),
              errc::unsupported);
}

TEST(MysqlRefusals, ADetailIsOneLineThatBeginsWithThePlace) {
    const auto why = explain_refusal("db:3306", {1045, "Access\ndenied " + std::string(900, 'x')});
    EXPECT_TRUE(why.detail.starts_with("db:3306: Access?denied"));
    EXPECT_NE(why.detail.find("(error 1045; "), std::string::npos);
    EXPECT_LT(why.detail.size(), 500u);
}

TEST(MysqlRefusals, TheVersionNamesItsEngine) {
    EXPECT_EQ(engine_of("10.11.19-MariaDB-0+deb12u1"), "MariaDB 10.11.19");
    EXPECT_EQ(engine_of("8.0.36"), "MySQL 8.0.36");
    EXPECT_EQ(engine_of("8.4.0-commercial"), "MySQL 8.4.0");
}

}  // namespace
}  // namespace pawl::mysql
