#include "test_support/servers/mysql_server.hpp"

#include <mysql.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace pawl::testing_servers {
namespace {

using handle = std::unique_ptr<MYSQL, void (*)(MYSQL*)>;

// Whether one answers is probed, and again; a question has to be answered, however long it stands
// still.
constexpr unsigned probe_seconds = 5, ask_seconds = 30;

handle connect_to(const std::string& socket, unsigned seconds) {
    handle made{mysql_init(nullptr), mysql_close};
    mysql_options(made.get(), MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
    if (mysql_real_connect(made.get(), "localhost", "root", "", nullptr, 0, socket.c_str(),
                           CLIENT_MULTI_STATEMENTS) == nullptr)
        made.reset();
    return made;
}

std::string run(MYSQL* by, const std::string& sql) {
    const auto check = [&](bool failed) {
        if (failed) throw std::runtime_error{sql + ": " + mysql_error(by)};
    };
    check(mysql_real_query(by, sql.data(), sql.size()) != 0);
    std::string text;
    for (;;) {
        if (auto* rows = mysql_store_result(by)) {
            const auto columns = mysql_num_fields(rows);
            while (auto* row = mysql_fetch_row(rows)) {
                if (!text.empty()) text += '\n';
                for (unsigned i = 0; i < columns; ++i)
                    text += std::string{i == 0 ? "" : "\t"} + (row[i] == nullptr ? "NULL" : row[i]);
            }
            mysql_free_result(rows);
        }
        const int next = mysql_next_result(by);
        check(next > 0);
        if (next < 0) return text;
    }
}

handle session_of(const std::string& socket) {
    auto by = connect_to(socket, ask_seconds);
    if (!by) throw std::runtime_error{"cannot connect to the MariaDB of the test"};
    return by;
}

const std::vector<std::string> usual_lines{"bind-address=127.0.0.1",
                                           "skip-name-resolve",
                                           "innodb_buffer_pool_size=32M",
                                           "innodb_log_file_size=8M",
                                           "innodb_flush_method=nosync",
                                           "innodb_buffer_pool_dump_at_shutdown=OFF",
                                           "innodb_buffer_pool_load_at_startup=OFF",
                                           "performance_schema=OFF"};

void write_lines(const std::filesystem::path& folder, const std::vector<std::string>& more) {
    std::ofstream out{folder / "my.cnf"};
    out << "[mysqld]\ndatadir=" << (folder / "data").string()
        << "\nsocket=" << (folder / "s.sock").string() << "\npid-file=" << (folder / "pid").string()
        << "\ntmpdir=" << folder.string() << "\n";
    for (const auto& line : usual_lines) out << line << "\n";
    for (const auto& line : more) out << line << "\n";
}

std::vector<std::string> server_words(const std::filesystem::path& folder) {
    return {"mariadbd", "--defaults-file=" + (folder / "my.cnf").string()};
}

// The data that every server starts with: made once for each test program, as it takes a second.
class template_data {
public:
    explicit template_data(const std::string& run_as) {
        hand_over(folder_.path(), run_as);
        write_lines(folder_.path(), {"skip-networking"});
        run_command({"mariadb-install-db",
                     "--defaults-file=" + (folder_.path() / "my.cnf").string(), "--user=" + run_as,
                     "--auth-root-authentication-method=normal", "--skip-test-db"});
        const auto log = folder_.path() / "log";
        process server{server_words(folder_.path()), run_as, log};
        const auto socket = (folder_.path() / "s.sock").string();
        wait_until_ready(server, log, [&] { return connect_to(socket, probe_seconds) != nullptr; });
        const std::string user = mysql_server::user, database = mysql_server::database;
        run(session_of(socket).get(), "CREATE DATABASE " + database + "; CREATE USER " + user +
                                          "@'%' IDENTIFIED BY '" + mysql_server::password +
                                          "'; GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON " +
                                          database + ".* TO " + user + "@'%'");
        server.stop();
    }

    std::filesystem::path data() const { return folder_.path() / "data"; }

private:
    temporary_folder folder_{temporary_folder::storage::disk};
};

const template_data& shared_template(const std::string& run_as) {
    static const template_data made{run_as};
    return made;
}

}  // namespace

mysql_server::mysql_server(mysql_server_options options)
    : options_{std::move(options)}, run_as_{server_user({"mysql"})}, port_{free_port()} {
    hand_over(folder_.path(), run_as_);
    write_configuration();
    copy_data();
    start();
}

void mysql_server::write_configuration() const {
    auto lines = options_.more;
    lines.push_back("port=" + std::to_string(port_));
    lines.push_back(std::string{"innodb_flush_log_at_trx_commit="} + (options_.synced ? "1" : "0"));
    if (options_.tls) {
        const auto& tls = *options_.tls;
        const bool old = options_.tls_expired;
        lines.push_back("ssl_ca=" + tls.ca());
        lines.push_back("ssl_cert=" + (old ? tls.expired() : tls.server()));
        lines.push_back("ssl_key=" + (old ? tls.expired_key() : tls.server_key()));
    }
    write_lines(folder_.path(), lines);
}

void mysql_server::copy_data() const {
    run_command(
        {"cp", "-a", shared_template(run_as_).data().string(), (folder_.path() / "data").string()});
}

bool mysql_server::answers() const { return connect_to(unix_path(), probe_seconds) != nullptr; }

void mysql_server::start() {
    const auto log = folder_.path() / "log";
    server_ = process{server_words(folder_.path()), run_as_, log};
    wait_until_ready(server_, log, [this] { return answers(); });
}

void mysql_server::restart() {
    server_.stop();
    start();
}

void mysql_server::crash() { server_.kill(); }

void mysql_server::lose_data() {
    server_.kill();
    std::filesystem::remove_all(folder_.path() / "data");
    copy_data();
    start();
}

void mysql_server::freeze() const { server_.freeze(); }
void mysql_server::thaw() const { server_.thaw(); }

std::string mysql_server::ask(const std::string& sql) const {
    return run(session_of(unix_path()).get(), sql);
}

std::shared_ptr<void> mysql_server::hold(const std::string& sql) const {
    std::shared_ptr<MYSQL> by{session_of(unix_path())};
    run(by.get(), sql);
    return by;
}

}  // namespace pawl::testing_servers
