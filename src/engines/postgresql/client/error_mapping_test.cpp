#include "engines/postgresql/client/error_mapping.hpp"

#include "engines/postgresql/client/layout.hpp"
#include "engines/postgresql/client/postgresql_settings.hpp"

#include <gtest/gtest.h>

namespace pawl::postgresql {
namespace {

// Each SQLSTATE means what a caller can do about it.
TEST(PostgresqlRejections, AnErrorMeansWhatTheCallerCanDo) {
    const struct {
        const char* sqlstate;
        errc code;
    } cases[] = {
        {"28P01", errc::denied},      {"28000", errc::denied},      {"42501", errc::denied},
        {"3D000", errc::unsupported}, {"40001", errc::unreachable}, {"40P01", errc::unreachable},
        {"25006", errc::unreachable}, {"55P03", errc::unreachable}, {"57014", errc::unreachable},
        {"57P03", errc::unreachable}, {"53300", errc::unreachable}, {"53100", errc::unreachable},
        {"53200", errc::unreachable}, {"22021", errc::rejected},    {"08P01", errc::protocol},
        {"0A000", errc::unsupported}};
    for (const auto& [sqlstate, code] : cases)
        EXPECT_EQ(name_of(explain_error("db:5432", sqlstate, "words").code), name_of(code))
            << sqlstate;
}

// Goal: a job that may run without a lease does not while the server answers, as who holds the key
// may go on. Method: what a standby, a full server and a locked row say, beside what is an outage.
TEST(PostgresqlRejections, AServerThatCannotWriteIsNoOutage) {
    for (const auto* state : {"25006", "53100", "53200", "55000", "55P03"})
        EXPECT_TRUE(explain_error("db:5432", state, "words").answered) << state;
    for (const auto* state : {"53300", "57P03", "40001"})
        EXPECT_FALSE(explain_error("db:5432", state, "words").answered) << state;
}

// What a function of the server says that a standby cannot answer; its words may be in any
// language.
TEST(PostgresqlRejections, AStandbyIsRecognisedByWhatItCannotTell) {
    for (const auto* words : {"recovery is in progress", "Wiederherstellung läuft"}) {
        const auto why = explain_error("db:5432", "55000", words);
        EXPECT_EQ(name_of(why.code), name_of(errc::unreachable));
        EXPECT_NE(why.detail.find("point the URL at the primary"), std::string::npos) << why.detail;
    }
    const auto closed = explain_connection(
        "db:5432", "FATAL:  55000: database \"x\" is not currently accepting connections");
    EXPECT_EQ(closed.detail.find("primary"), std::string::npos) << closed.detail;
}

// A server that is full may be asked again, but it is there: no outage policy applies.
TEST(PostgresqlRejections, AFullServerIsNoOutage) {
    for (const auto* sqlstate : {"53100", "53200"})
        EXPECT_FALSE(is_outage(explain_error("db:5432", sqlstate, "words"))) << sqlstate;
    EXPECT_TRUE(is_outage(explain_error("db:5432", "53300", "words")));
}

TEST(PostgresqlRejections, TheServersWordsComeOnOneLine) {
    const auto why =
        explain_error("db:5432", "53100", "could not extend file\n\tNo space\x01 left\n");
    EXPECT_EQ(why.detail, "db:5432: could not extend file; No space? left (make room on its disk)");
    EXPECT_LT(explain_error("db", "XX000", std::string(10'000, 'x')).detail.size(), 500u);
}

// The SQLSTATE decides, whatever the language of the server; where it was raised is left out.
TEST(PostgresqlRejections, AConnectionIsJudgedByTheSqlstateInItsMessage) {
    const auto why = explain_connection(
        "db:5432",
        "connection to server at \"db\", port 5432 failed: FATAL:  28P01: Passwort falsch\n"
        "LOCATION:  auth_failed, auth.c:326\n");
    EXPECT_EQ(why.code, errc::denied);
    EXPECT_EQ(why.detail.find("auth.c"), std::string::npos);
    EXPECT_NE(why.detail.find("Passwort falsch"), std::string::npos);
    EXPECT_EQ(explain_connection("db", "FATAL:  57P03: starting up").code, errc::unreachable);
    EXPECT_EQ(explain_connection("db", "FATAL:  08P01: no such database: x").code,
              errc::unsupported);
    EXPECT_EQ(explain_connection("db", "server is in hot standby mode").code, errc::unreachable);
    EXPECT_EQ(explain_connection("db", "Connection refused").code, errc::unreachable);
    EXPECT_EQ(explain_connection("db", "").detail, "db: ");
}

// Goal: an outage behind a pooler is an outage. What the pooler quotes of a server comes first.
TEST(PostgresqlRejections, APoolerSaysMostThingsUnderOneCode) {
    for (const std::string text :
         {"server login has been failing, try again later (server_login_retry)",
          "no more connections allowed (max_client_conn)", "query_wait_timeout",
          "client_login_timeout (server down)", "server conn crashed?",
          "pgbouncer cannot connect to server", "idle transaction timeout"}) {
        EXPECT_EQ(explain_error("db", "08P01", text).code, errc::unreachable) << text;
        EXPECT_EQ(explain_connection("db", "FATAL:  08P01: " + text).code, errc::unreachable);
    }
    EXPECT_EQ(explain_error("db", "08P01",
                            "server login has been failing, cached error: password authentication "
                            "failed for user \"x\" (server_login_retry)")
                  .code,
              errc::denied);
}

// The word is the schema; names that contain it are not.
TEST(PostgresqlLayout, TheScriptIsForAnySchema) {
    EXPECT_EQ(with_schema("CREATE SCHEMA pawl; pawl.lease 'pawl_x' my_pawl pawl", "other"),
              "CREATE SCHEMA other; other.lease 'pawl_x' my_pawl other");
    EXPECT_EQ(with_schema("", "other"), "");
}

TEST(PostgresqlSettings, APlaceHoldsNoSecret) {
    connection_target target;
    EXPECT_EQ(place_of(target), "postgresql");
    target.keywords = {{"password", "s3cret"}};
    target.servers = {{"db1", "", ""}, {"::1", "", "6000"}, {"/run/postgresql", "", ""}};
    EXPECT_EQ(place_of(target), "db1:5432,[::1]:6000,/run/postgresql:5432");
    EXPECT_EQ(place_of(server_address{"", "10.0.0.7", "1"}), "10.0.0.7:1");
}

}  // namespace
}  // namespace pawl::postgresql
