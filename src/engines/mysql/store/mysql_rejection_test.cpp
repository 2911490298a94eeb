// The ways in which a MySQL or MariaDB, or what was taken for one, turns a store away: one clear
// line each.
#include "engines/mysql/store/mysql_fixture.hpp"
#include "test_support/faults/canned_server.hpp"
#include "test_support/faults/tcp_proxy.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <future>
#include <thread>

namespace pawl::mysql {
namespace {

using testing_faults::canned_server;
using testing_servers::certificates;

class MysqlRejection : public ::testing::Test {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<mysql_server>(); }
    static void TearDownTestSuite() { server_.reset(); }
    static const mysql_server& server() { return *server_; }
    // A database and a user with these privileges on it, both called `name`.
    static mysql_settings with_user(const std::string& name, const std::string& privileges) {
        server().ask("CREATE DATABASE " + name + "; CREATE USER " + name +
                     " IDENTIFIED BY 's3cret'; " + "GRANT " + privileges + " ON " + name +
                     ".* TO " + name);
        auto settings = on_port(server().port());
        settings.user = settings.database = name;
        return settings;
    }

private:
    static inline std::unique_ptr<mysql_server> server_;
};

void expect_rejection(const mysql_settings& settings, errc code, const std::string& words) {
    auto mine = open(settings);
    expect_failure(mine.acquire(fresh_claim("key")), code, words);
}

// ---- Credentials and privileges

TEST_F(MysqlRejection, AWrongPasswordIsDeniedAtOnce) {
    auto settings = on_port(server().port(), 30s);
    settings.password = "wrong-password";
    const auto asked = lease_clock::now();
    auto mine = open(settings);
    const auto got = mine.acquire(fresh_claim("key"));
    expect_failure(got, errc::denied, "Access denied for user 'locker'");
    EXPECT_EQ(got.error().detail.find("wrong-password"), std::string::npos);
    EXPECT_LT(lease_clock::now() - asked, 15s);
}

// Goal: the documentation names enough privileges. Method: every verb as a user that has them, on
// tables that an administrator's user has made.
TEST_F(MysqlRejection, TheDocumentedUserMayDoEverything) {
    auto settings = with_user("frugal", "CREATE");
    server().ask("GRANT SELECT, INSERT, UPDATE, DELETE ON frugal.* TO frugal");
    EXPECT_GT(number(open(settings).granted(fresh_claim("first"))), 0u);
    server().ask("REVOKE CREATE ON frugal.* FROM frugal");
    settings.common.retention = 1ms;
    settings.common.max_skew = 0ms;
    constexpr millis lasts = 6s;
    for (const bool quarantined : {false, true}) {
        if (quarantined) settings.common.quarantine = lasts;
        auto mine = open(settings);
        auto token = mine.granted_in_the_end(fresh_claim("key", lasts), 200ms, 30s);
        EXPECT_EQ(mine.renew(conformance::lease_of("key", token, lasts)), renewal::renewed);
        EXPECT_TRUE(*mine.force_release("key", token, 0ms));
        EXPECT_EQ(mine.wait_change("key", token, 5s), conformance::wait_end::changed);
        const auto wanted = fresh_claim("key", lasts);
        mine.granted_in_the_end(wanted, 200ms, 30s);
        EXPECT_TRUE(*mine.withdraw({"key", wanted.id}));
        auto once = fresh_claim("key", lasts);
        once.occurrence = conformance::occurrence_in(0s);
        token = mine.granted_in_the_end(once, 200ms, 30s);
        release_options done;
        done.done = once.occurrence;
        EXPECT_TRUE(*mine.release("key", token, done));
        EXPECT_TRUE(mine.fence("resource", token, fence_rule::reject_older)->accepted);
        EXPECT_GE(mine.all("", 10).size(), 1u);
        server().ask("UPDATE frugal.pawl_lease SET until_at = until_at - 3600000000");
        // Enough grants for a sweep.
        for (int i = 0; i < 70; ++i)
            EXPECT_TRUE(*mine.release("many", mine.granted(fresh_claim("many", lasts))));
        until([&] {
            return server().ask("SELECT COUNT(*) FROM frugal.pawl_lease WHERE lock_key = 'key'") ==
                   "0";
        });
    }
}

TEST_F(MysqlRejection, AMissingPrivilegeIsDeniedAndNamed) {
    const auto settings = with_user("reader", "SELECT, CREATE, UPDATE, DELETE");
    expect_rejection(settings, errc::denied, "INSERT command denied to user 'reader'");
}

TEST_F(MysqlRejection, TablesThatMayNotBeMadeAreAnAdministratorsTask) {
    const auto settings = with_user("nomaker", "SELECT, INSERT, UPDATE, DELETE");
    expect_rejection(settings, errc::denied, "an administrator must make them once");
}

TEST_F(MysqlRejection, AMissingDatabaseIsNamed) {
    auto settings = on_port(server().port());
    settings.database = "nowhere";
    expect_rejection(settings, errc::denied, "to database 'nowhere'");
    server().ask("CREATE USER almighty IDENTIFIED BY 's3cret'; GRANT ALL ON *.* TO almighty");
    settings.user = "almighty";
    expect_rejection(settings, errc::unsupported, "Unknown database 'nowhere'");
}

// ---- Tables

TEST_F(MysqlRejection, ANewerLayoutIsUnsupported) {
    const auto settings = with_user("newer", "ALL");
    EXPECT_GT(number(open(settings).granted(fresh_claim("key"))), 0u);
    server().ask("UPDATE newer.pawl_marker SET layout = 7");
    expect_rejection(settings, errc::unsupported, "layout 7, and this pawl knows 1 at most");
}

TEST_F(MysqlRejection, AMyisamTableIsUnsupported) {
    const auto settings = with_user("isam", "ALL");
    EXPECT_GT(number(open(settings).granted(fresh_claim("key"))), 0u);
    server().ask("ALTER TABLE isam.pawl_fence ENGINE = MyISAM");
    expect_rejection(settings, errc::unsupported, "ALTER TABLE pawl_fence ENGINE=InnoDB");
}

// It is unknown since when tables without their marker are whole.
TEST_F(MysqlRejection, AMissingMarkerIsMadeAnewAndBeginsAQuarantine) {
    auto settings = with_user("emptied", "ALL");
    EXPECT_GT(number(open(settings).granted(fresh_claim("key"))), 0u);
    server().ask("UPDATE emptied.pawl_marker SET born = 1, whole_at = 1");
    settings.common.quarantine = 60s;
    EXPECT_GT(number(open(settings).granted(fresh_claim("whole"))), 0u);
    server().ask("DELETE FROM emptied.pawl_marker");
    EXPECT_EQ(open(settings).rejected(fresh_claim("other")).reason, busy_reason::quarantined);
}

TEST_F(MysqlRejection, AKeyThatIsTooLongForItsColumnIsRejected) {
    auto mine = open(on_port(server().port()));
    auto wanted = fresh_claim("key");
    wanted.id = std::string(65, 'x');
    expect_failure(mine.acquire(wanted), errc::rejected, "Data too long");
    EXPECT_GT(number(mine.granted(fresh_claim("key"))), 0u);
}

// ---- Servers that cannot write

// Goal: a primary that became read-only is told, at a connection that stands and at a new one.
TEST_F(MysqlRejection, AReadOnlyServerIsUnreachableUntilItIsThePrimary) {
    mysql_server own;
    auto mine = open(on_port(own.port(), 10s));
    // A server that has just begun may take longer over it; the same claim is granted again.
    const auto before = fresh_claim("before");
    until([&] { return mine.acquire(before).has_value(); });
    own.ask("SET GLOBAL read_only = 1");
    expect_failure(mine.acquire(fresh_claim("key")), errc::unreachable,
                   "point the URL at the primary");
    auto late = open(on_port(own.port(), 10s));
    const auto rejected = late.acquire(fresh_claim("key"));
    expect_failure(rejected, errc::unreachable, "read-only");
    // It answers: a job must not run beside its holder for that.
    EXPECT_TRUE(conformance::failure_of(rejected).answered);
    own.ask("SET GLOBAL read_only = 0");
    EXPECT_GT(number(open(on_port(own.port(), 10s)).granted(fresh_claim("key"))), 0u);
}

TEST_F(MysqlRejection, AStatementLogIsUnsupported) {
    mysql_server_options options;
    options.more = {"log_bin=binlog", "binlog_format=STATEMENT", "server_id=3"};
    mysql_server own{options};
    expect_rejection(on_port(own.port()), errc::unsupported, "ROW or MIXED");
}

// Goal: a server without room for one more connection is no reason to fail with those that stand.
TEST_F(MysqlRejection, AServerWithoutRoomForMoreConnections) {
    mysql_server_options options;
    options.more = {"max_connections=10", "extra_max_connections=1"};
    mysql_server own{options};
    std::vector<client> others;
    auto mine = open(on_port(own.port(), 2s));
    const auto token = mine.granted(fresh_claim("mine", 60s));
    own.ask("SET GLOBAL max_connections = 10");
    for (int i = 0; i < 9; ++i) {
        others.push_back(open(on_port(own.port(), 2s)));
        others.back().granted(fresh_claim("other/" + std::to_string(i)));
    }
    expect_rejection(on_port(own.port(), 1s), errc::unreachable, "Too many connections");
    std::vector<std::jthread> callers;
    for (int i = 0; i < 4; ++i)
        callers.emplace_back([&, i] {
            for (int j = 0; j < 20; ++j) {
                const auto key = "key/" + std::to_string(i);
                EXPECT_TRUE(*mine.release(key, mine.granted(fresh_claim(key))));
            }
        });
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(mine.renew(conformance::lease_of("mine", token, 60s)), renewal::renewed);
}

// ---- Connections that the server ends

// An ERR packet, where the answer to a statement is expected.
std::string error_packet(unsigned number, const std::string& state, const std::string& words) {
    std::string payload{"\xff"};
    payload.append({static_cast<char>(number & 0xff), static_cast<char>(number >> 8)});
    payload.append("#").append(state).append(words);
    return std::string{static_cast<char>(payload.size()), 0, 0, 1} + payload;
}

// Goal: a server that says goodbye while a statement is on its way to it has not rejected it.
// Method: the statement is held back, the server's last words arrive where its answer is expected,
// and the connection ends; each way of sending one.
TEST_F(MysqlRejection, WhatAServerSaysUnaskedIsNoAnswer) {
    using testing_faults::direction;
    const auto all_said = {
        error_packet(4031, "HY000", "The client was disconnected because of inactivity"),
        error_packet(1159, "08S01", "Got timeout reading communication packets"),
        error_packet(3032, "HY000", "The server is currently in offline mode")};
    for (const auto& said : all_said) {
        testing_faults::tcp_proxy proxy{server().port()};
        auto mine = open(on_port(proxy.port(), 20s));
        const auto expect_done = [&](const std::string& what, const std::function<bool()>& ask) {
            const auto held = proxy.held_bytes(direction::to_server);
            proxy.stall(direction::to_server);
            auto asking = std::async(std::launch::async, ask);
            ASSERT_TRUE(proxy.wait_for_held_bytes(direction::to_server, held + 1)) << what;
            const auto before = proxy.connections();
            proxy.tell_clients(said);
            // What was held back goes down with its connection.
            until([&] {
                return proxy.connections() > before ||
                       asking.wait_for(0s) == std::future_status::ready;
            });
            proxy.cut();
            proxy.resume(direction::to_server);
            EXPECT_TRUE(asking.get()) << what << ": " << said.substr(7);
        };
        const auto key = "said/" + std::to_string(proxy.port());
        const auto claims = [&] { return mine.acquire(fresh_claim(key)).has_value(); };
        ASSERT_TRUE(mine.inspect(key).has_value());
        expect_done("preparing", claims);
        ASSERT_TRUE(claims());
        expect_done("executing", claims);
        expect_done("a text", [&] { return mine.inspect(key).has_value(); });
    }
}

// ---- Wrong peers

// Speaks first, as a mail server or SSH does.
class banner_server {
public:
    explicit banner_server(std::string banner)
        : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
        sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof where;
        auto* address = reinterpret_cast<sockaddr*>(&where);
        EXPECT_EQ(::bind(socket_, address, size), 0);
        EXPECT_EQ(::listen(socket_, 8), 0);
        EXPECT_EQ(::getsockname(socket_, address, &size), 0);
        port_ = ntohs(where.sin_port);
        serving_ = std::jthread{[this, banner = std::move(banner)] {
            std::vector<int> guests;
            for (;;) {
                const int guest = ::accept(socket_, nullptr, nullptr);
                if (guest < 0) break;
                guests.push_back(guest);
                EXPECT_GT(::send(guest, banner.data(), banner.size(), MSG_NOSIGNAL), 0);
            }
            for (const int guest : guests) ::close(guest);
        }};
    }
    ~banner_server() {
        ::shutdown(socket_, SHUT_RDWR);
        serving_.join();
        ::close(socket_);
    }
    banner_server(const banner_server&) = delete;
    banner_server& operator=(const banner_server&) = delete;
    std::uint16_t port() const { return port_; }

private:
    int socket_;
    std::uint16_t port_ = 0;
    std::jthread serving_;
};

TEST_F(MysqlRejection, AServerOfAnotherKindIsNamedAsThat) {
    banner_server mail{"220 mail.example.com ESMTP\r\n"};
    const auto asked = lease_clock::now();
    expect_rejection(on_port(mail.port(), 30s), errc::protocol, "not MySQL or MariaDB");
    EXPECT_LT(lease_clock::now() - asked, 15s);
    banner_server rubbish{
        std::string{"\x03\x00\x00\x00\x0a"
                    "ab",
                    7}};
    auto mine = open(on_port(rubbish.port(), 1s));
    EXPECT_TRUE(mine.acquire(fresh_claim("key")).has_error());
}

TEST_F(MysqlRejection, AnUnresponsiveServerIsUnreachableAfterTheTimeout) {
    canned_server silent{{}};
    const auto asked = lease_clock::now();
    expect_rejection(on_port(silent.port(), 100ms), errc::unreachable, "no answer within 100ms");
    EXPECT_LT(lease_clock::now() - asked, 10s);
    // So is one that waits for the client to speak, as HTTP does.
    canned_server http{{"HTTP/1.1 400 Bad Request\r\n\r\n"}};
    expect_rejection(on_port(http.port(), 100ms), errc::unreachable, "no answer within 100ms");
}

TEST_F(MysqlRejection, AClosedPortIsUnreachableAfterTheTimeout) {
    EXPECT_TRUE(conformance::takes_less(2s, [] {
        const auto asked = lease_clock::now();
        expect_rejection(on_port(testing_servers::free_port(), 100ms), errc::unreachable,
                         "Connection refused");
        EXPECT_GE(lease_clock::now() - asked, 100ms);
    }));
    auto nowhere = on_port(3306, 500ms);
    nowhere.host = "no-such-host.invalid";
    expect_rejection(nowhere, errc::unreachable, "no-such-host.invalid:3306");
}

// ---- Other ways in

TEST_F(MysqlRejection, AUnixSocketWorksAndABadPathIsUnreachable) {
    auto settings = on_port(1);
    settings.unix_path = server().unix_path();
    EXPECT_GT(number(open(settings).granted(fresh_claim("socket"))), 0u);
    settings.unix_path += ".missing";
    settings.common.timeout = 200ms;
    expect_rejection(settings, errc::unreachable, ".missing");
}

// unix_socket: the kernel says who asks.
TEST_F(MysqlRejection, AUserOfTheSystemLogsInWithoutAPassword) {
    if (geteuid() != 0) GTEST_SKIP() << "the test server knows root only";
    server().ask("ALTER USER root@localhost IDENTIFIED VIA unix_socket");
    server().ask("CREATE DATABASE IF NOT EXISTS ofroot");
    auto settings = on_port(1);
    settings.unix_path = server().unix_path();
    settings.user = "root";
    settings.password = {};
    settings.database = "ofroot";
    EXPECT_GT(number(open(settings).granted(fresh_claim("key"))), 0u);
}

class MysqlOverTls : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        keys_ = std::make_shared<const certificates>();
        mysql_server_options options;
        options.tls = keys_;
        server_ = std::make_unique<mysql_server>(options);
    }
    static void TearDownTestSuite() {
        server_.reset();
        keys_.reset();
    }
    static mysql_settings settings() {
        auto to = on_port(server_->port());
        to.tls = net::tls_settings{keys_->ca(), {}, {}, {}};
        return to;
    }
    static const certificates& keys() { return *keys_; }
    static const mysql_server& server() { return *server_; }

    static inline std::shared_ptr<const certificates> keys_;
    static inline std::unique_ptr<mysql_server> server_;
};

TEST_F(MysqlOverTls, AVerifiedServerIsUsed) {
    auto by_address = open(settings());
    const auto token = by_address.granted(fresh_claim("key"));
    auto to = settings();
    to.host = "localhost";
    auto by_name = open(to);
    EXPECT_EQ(by_name.show("key").holder, token);
    to = settings();
    to.tls->server_name = "localhost";
    EXPECT_EQ(open(to).show("key").holder, token);
    EXPECT_GE(
        server().count("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'locker'"),
        2);
}

TEST_F(MysqlOverTls, ManyCallersAtOnceAreServed) {
    auto mine = open(settings());
    std::vector<std::jthread> callers;
    for (int i = 0; i < 4; ++i)
        callers.emplace_back([&, i] {
            const auto key = "key/" + std::to_string(i);
            for (int j = 0; j < 50; ++j)
                EXPECT_TRUE(*mine.release(key, mine.granted(fresh_claim(key))));
        });
}

TEST_F(MysqlOverTls, AnExpiredCertificateIsDenied) {
    mysql_server_options options;
    options.tls = keys_;
    options.tls_expired = true;
    mysql_server expired{options};
    auto to = settings();
    to.port = expired.port();
    expect_rejection(to, errc::denied, "expired");
}

TEST_F(MysqlOverTls, AnUnknownAuthorityIsDenied) {
    auto to = settings();
    to.tls->ca = keys().other_ca();
    expect_rejection(to, errc::denied, "certificate is rejected");
    to.tls->ca.clear();
    expect_rejection(to, errc::denied, "certificate is rejected");
}

TEST_F(MysqlOverTls, ACertificateForAnotherNameIsDenied) {
    auto to = settings();
    to.tls->server_name = "db.example.com";
    expect_rejection(to, errc::denied, "the certificate is not for db.example.com");
    // 127.0.0.2 is this machine as well, but stands in no certificate. It is the library that
    // rejects it, before it logs in.
    mysql_server_options options;
    options.tls = keys_;
    options.more = {"bind-address=*"};
    mysql_server everywhere{options};
    to = settings();
    to.port = everywhere.port();
    to.host = "127.0.0.2";
    expect_rejection(to, errc::denied, "Validation of SSL server certificate failed");
    to.tls->server_name = "localhost";
    EXPECT_GT(number(open(to).granted(fresh_claim("key"))), 0u);
}

// Goal: a handshake that stands still is given up in time, although the library's own would wait
// for ever. Method: a greeting that promises TLS, and then silence.
TEST_F(MysqlOverTls, AHandshakeThatStandsStillEndsWithinTheTimeout) {
    std::string payload{"\x0a"};
    payload.append(std::string_view{"8.0.36\0", 7});
    payload.append(std::string_view{"\1\0\0\0", 4}).append("abcdefgh").append(1, '\0');
    payload.append(std::string_view{"\xff\xff\x21\x02\x00\xff\xff\x15", 8});
    payload.append(10, '\0').append("ijklmnopqrst").append(1, '\0');
    payload.append(std::string_view{"mysql_native_password\0", 22});
    const std::string head{static_cast<char>(payload.size()), 0, 0, 0};
    banner_server promises{head + payload};
    auto to = settings();
    to.port = promises.port();
    to.common.timeout = 300ms;
    const auto asked = lease_clock::now();
    expect_rejection(to, errc::unreachable, "no answer within 300ms");
    EXPECT_LT(lease_clock::now() - asked, 10s);
}

TEST_F(MysqlOverTls, AUserWhoNeedsACertificateShowsOurs) {
    server().ask(
        "CREATE USER known IDENTIFIED BY 's3cret' REQUIRE X509; GRANT ALL ON pawl.* TO known");
    auto to = settings();
    to.user = "known";
    expect_rejection(to, errc::denied, "must use TLS");
    to.tls->certificate = keys().client();
    to.tls->key = keys().client_key();
    EXPECT_GT(number(open(to).granted(fresh_claim("known"))), 0u);
}

TEST_F(MysqlOverTls, AFileThatCannotBeReadIsDeniedAndNamed) {
    auto to = settings();
    to.tls->ca += ".missing";
    expect_rejection(to, errc::denied, ".missing");
}

TEST_F(MysqlOverTls, AServerWithoutTlsIsUnsupported) {
    mysql_server_options options;
    options.more = {"skip_ssl"};
    mysql_server plain{options};
    auto to = settings();
    to.port = plain.port();
    expect_rejection(to, errc::unsupported, "tls=off");
}

TEST_F(MysqlOverTls, AServerThatInsistsOnTlsSaysSo) {
    server().ask(
        "CREATE USER secure IDENTIFIED BY 's3cret' REQUIRE SSL; GRANT ALL ON pawl.* TO secure");
    auto to = on_port(server().port());
    to.user = "secure";
    expect_rejection(to, errc::denied, "must use TLS");
}

}  // namespace
}  // namespace pawl::mysql
