#include "test_support/servers/postgresql_server.hpp"

#include <pawl/clock.hpp>

#include <libpq-fe.h>

#include <poll.h>
#include <signal.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace pawl::testing_servers {
namespace {

using connection = std::unique_ptr<PGconn, void (*)(PGconn*)>;
using answer = std::unique_ptr<PGresult, void (*)(PGresult*)>;

constexpr int end_bound_ms = 10'000;  // of a process that was killed

// Debian keeps the servers of each version in a folder of their own.
std::string program(const std::string& name) {
    const std::filesystem::path versions{"/usr/lib/postgresql"};
    std::string best;
    if (std::filesystem::is_directory(versions))
        for (const auto& entry : std::filesystem::directory_iterator{versions}) {
            const auto candidate = entry.path() / "bin" / name;
            if (std::filesystem::exists(candidate)) best = std::max(best, candidate.string());
        }
    return best.empty() ? name : best;
}

// The programs of PostgreSQL refuse to run as root.
void run_as(const std::string& user, std::vector<std::string> words) {
    if (geteuid() == 0)
        words.insert(words.begin(),
                     {"setpriv", "--reuid=" + user, "--regid=" + user, "--init-groups"});
    run_command(words);
}

// What initdb makes, made once in this process: copying it is ten times as fast.
const std::filesystem::path& blank_data(const std::string& user) {
    static const temporary_folder folder;
    static const auto data = [&user] {
        hand_over(folder.path(), user);
        auto made = folder.path() / "blank";
        run_as(user, {program("initdb"), "-D", made.string(), "-U", "postgres", "--auth=trust",
                      "--no-sync", "--no-instructions", "-E", "UTF8", "--locale=C"});
        return made;
    }();
    return data;
}

// Whether one answers is probed, and again; a question has to be answered, however long it stands
// still.
constexpr int probe_seconds = 3, ask_seconds = 30;

connection connect_to(const std::string& folder, std::uint16_t port, int seconds) {
    const auto words = "host=" + folder + " port=" + std::to_string(port) +
                       " user=postgres dbname=postgres connect_timeout=" + std::to_string(seconds);
    return {PQconnectdb(words.c_str()), PQfinish};
}

std::string run(PGconn* by, const std::string& sql) {
    if (PQstatus(by) != CONNECTION_OK) throw std::runtime_error{PQerrorMessage(by)};
    PQsetNoticeProcessor(by, [](void*, const char*) {}, nullptr);
    const answer got{PQexec(by, sql.c_str()), PQclear};
    const auto status = PQresultStatus(got.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        throw std::runtime_error{PQresultErrorMessage(got.get())};
    std::string text;
    for (int row = 0; row < PQntuples(got.get()); ++row) {
        if (row > 0) text += '\n';
        for (int column = 0; column < PQnfields(got.get()); ++column)
            text.append(column == 0 ? "" : "\t").append(PQgetvalue(got.get(), row, column));
    }
    return text;
}

}  // namespace

postgresql_server::postgresql_server(postgresql_options options)
    : options_{std::move(options)}, user_{server_user({"postgres"})}, port_{free_port()} {
    hand_over(folder_.path(), user_);
    lay_out();
    start();
}

// Its processes would write into the folder while it is removed, and some of it would stay.
postgresql_server::~postgresql_server() {
    if (!server_.is_running()) return;
    try {
        crash();
    } catch (const std::exception&) {
        server_.kill();
        give_back_memory();
    }
}

void postgresql_server::lay_out() {
    const auto data = (folder_.path() / "data").string();
    if (options_.primary != 0)
        follow_primary();
    else
        run_command({"cp", "-a", blank_data(user_).string(), data});
    write_configuration();
}

void postgresql_server::follow_primary() {
    run_as(user_, {program("pg_basebackup"), "-D", (folder_.path() / "data").string(), "-h",
                   "127.0.0.1", "-p", std::to_string(options_.primary), "-U", "postgres", "-R",
                   "-c", "fast", "--no-sync"});
}

void postgresql_server::write_configuration() const {
    const auto data = folder_.path() / "data";
    std::ofstream hba{data / "pg_hba.conf"};
    hba << "local all all trust\nlocal replication all trust\n"
           "host replication all 127.0.0.1/32 trust\n";
    for (const auto& line : options_.who) hba << line << "\n";
    std::ofstream out{data / "postgresql.conf"};
    out << "listen_addresses='127.0.0.1'\nport=" << port_ << "\nunix_socket_directories='"
        << folder_.path().string()
        << "'\nshared_buffers=16MB\nmax_connections=100\njit=off\nautovacuum_naptime=1h\n"
           "log_min_messages=warning\nwal_level=replica\nmax_wal_senders=4\n"
           "wal_retrieve_retry_interval=100ms\ndynamic_shared_memory_type=mmap\n";
    if (options_.tls) {
        // The server wants a key that is its own and nobody else's.
        const auto key = data / "server.key";
        std::filesystem::copy_file(
            options_.tls_expired ? options_.tls->expired_key() : options_.tls->server_key(), key,
            std::filesystem::copy_options::overwrite_existing);
        std::filesystem::permissions(key, std::filesystem::perms::owner_read);
        hand_over(key, user_);
        const auto certificate = data / "server.crt";
        std::filesystem::copy_file(
            options_.tls_expired ? options_.tls->expired() : options_.tls->server(), certificate,
            std::filesystem::copy_options::overwrite_existing);
        hand_over(certificate, user_);
        const auto authority = data / "ca.crt";
        std::filesystem::copy_file(options_.tls->ca(), authority,
                                   std::filesystem::copy_options::overwrite_existing);
        hand_over(authority, user_);
        out << "ssl=on\nssl_cert_file='server.crt'\nssl_key_file='server.key'\n"
               "ssl_ca_file='ca.crt'\n";
    }
    for (const auto& setting : options_.more) out << setting << "\n";
}

bool postgresql_server::answers() const {
    const auto link = connect_to(socket_folder(), port_, probe_seconds);
    return PQstatus(link.get()) == CONNECTION_OK;
}

void postgresql_server::start() {
    const auto log = folder_.path() / "log";
    // A server that was killed may leave its mark, with a number that somebody else has by now.
    std::filesystem::remove(folder_.path() / "data" / "postmaster.pid");
    server_ = process{{program("postgres"), "-D", (folder_.path() / "data").string()}, user_, log};
    wait_until_ready(server_, log, [this] { return answers(); });
}

void postgresql_server::restart() {
    server_.signal(SIGINT);
    // A busy disk takes its time for the last checkpoint, and a server that is killed in it leaves
    // processes behind that hold its memory.
    const auto give_up = lease_clock::now() + std::chrono::minutes{1};
    while (server_.is_running() && lease_clock::now() < give_up) poll(nullptr, 0, 5);
    server_.stop();
    start();
}

void postgresql_server::immediate() {
    server_.signal(SIGQUIT);
    server_.stop();
}

// The processes of a postmaster outlive its kill for a moment, and hold its shared memory, without
// which the next one does not start. So it is stopped, so that it forks no more, until they are
// gone.
void postgresql_server::crash() {
    server_.freeze();
    for (const auto one : children()) {
        const auto handle = static_cast<int>(syscall(SYS_pidfd_open, one, 0));
        if (handle < 0) continue;  // gone already
        ::kill(one, SIGKILL);
        pollfd ended{handle, POLLIN, 0};
        poll(&ended, 1, end_bound_ms);
        close(handle);
    }
    server_.kill();
    give_back_memory();
}

// What a server that was killed leaves to the machine, which has room for some thousands of them.
// Its mark names the segment in its seventh line, by key and number.
void postgresql_server::give_back_memory() const {
    std::ifstream mark{folder_.path() / "data" / "postmaster.pid"};
    std::string line;
    for (int i = 0; i < 7; ++i) std::getline(mark, line);
    std::istringstream words{line};
    long key = 0;
    int number = 0;
    if (words >> key >> number) shmctl(number, IPC_RMID, nullptr);
}

void postgresql_server::lose_data() {
    crash();
    std::filesystem::remove_all(folder_.path() / "data");
    lay_out();
    start();
}

void postgresql_server::promote() { ask("SELECT pg_promote()"); }

void postgresql_server::freeze() const {
    server_.freeze();
    for (const auto one : children()) testing_servers::freeze(one);
}

void postgresql_server::thaw() const {
    for (const auto one : children()) ::kill(one, SIGCONT);
    server_.thaw();
}

// One process for each connection, and a few of its own.
std::vector<pid_t> postgresql_server::children() const {
    const auto parent = std::to_string(server_.pid());
    std::ifstream list{"/proc/" + parent + "/task/" + parent + "/children"};
    std::vector<pid_t> found;
    for (pid_t one = 0; list >> one;) found.push_back(one);
    return found;
}

std::string postgresql_server::ask(const std::string& sql) const {
    const auto link = connect_to(socket_folder(), port_, ask_seconds);
    return run(link.get(), sql);
}

std::shared_ptr<void> postgresql_server::hold(const std::string& sql) const {
    std::shared_ptr<PGconn> link{connect_to(socket_folder(), port_, ask_seconds)};
    run(link.get(), sql);
    return link;
}

pgbouncer::pgbouncer(std::uint16_t server_port, const std::vector<std::string>& more)
    : user_{server_user({"postgres"})}, port_{free_port()} {
    hand_over(folder_.path(), user_);
    const auto users = folder_.path() / "users";
    std::ofstream{users} << "\"postgres\" \"\"\n";
    const auto settings = folder_.path() / "pgbouncer.ini";
    std::ofstream out{settings};
    out << "[databases]\n* = host=127.0.0.1 port=" << server_port
        << "\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port=" << port_
        << "\nunix_socket_dir=\nauth_type=trust\nauth_file=" << users.string()
        << "\npool_mode=transaction\ndefault_pool_size=3\nmax_client_conn=200\n";
    for (const auto& line : more) out << line << "\n";
    out.close();
    const auto log = folder_.path() / "log";
    pooler_ = process{{"pgbouncer", settings.string()}, user_, log};
    wait_until_ready(pooler_, log, [this] {
        const auto words = "host=127.0.0.1 port=" + std::to_string(port_) +
                           " user=postgres dbname=postgres connect_timeout=3";
        const connection link{PQconnectdb(words.c_str()), PQfinish};
        return PQstatus(link.get()) == CONNECTION_OK;
    });
}

}  // namespace pawl::testing_servers
