// A real PostgreSQL for tests, and a real PgBouncer before it.
#pragma once

#include "test_support/servers/certificates.hpp"
#include "test_support/servers/process.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pawl::testing_servers {

struct postgresql_options {
    // Lines of pg_hba.conf for connections over TCP; the administrator comes through the socket.
    std::vector<std::string> who{"host all all 127.0.0.1/32 trust"};
    std::vector<std::string> more;  // settings, such as statement_timeout=100ms
    std::shared_ptr<const certificates> tls;
    bool tls_expired = false;   // with the expired certificate
    std::uint16_t primary = 0;  // a standby of the one on that port, which needs no password
};

// Listens on 127.0.0.1, with the user and the database "postgres". Not thread-safe.
class postgresql_server {
public:
    explicit postgresql_server(postgresql_options options = {});
    ~postgresql_server();
    postgresql_server(const postgresql_server&) = delete;
    postgresql_server& operator=(const postgresql_server&) = delete;

    std::uint16_t port() const noexcept { return port_; }
    pid_t pid() const noexcept { return server_.pid(); }
    // The folder of its socket.
    std::string socket_folder() const { return folder_.path().string(); }

    // Each returns when the server answers again or is gone.
    void restart();    // ended in good order, whoever is connected
    void crash();      // SIGKILL to all of its processes
    void immediate();  // ended in a hurry, as by pg_ctl -m immediate
    void start();      // after one of these
    void lose_data();  // killed, wiped, started
    void promote();    // a standby takes over
    void freeze() const;
    void thaw() const;

    // Runs statements as an administrator and gives back what the last one found, a line for each
    // row and a tab between columns; throws on an error.
    std::string ask(const std::string& sql) const;
    // Runs statements in a session that lasts as long as what is given back, as a transaction does
    // that keeps rows locked.
    std::shared_ptr<void> hold(const std::string& sql) const;

private:
    void give_back_memory() const;
    void lay_out();
    void follow_primary();
    void write_configuration() const;
    bool answers() const;
    std::vector<pid_t> children() const;

    const postgresql_options options_;
    const std::string user_;
    temporary_folder folder_;
    std::uint16_t port_;
    process server_;
};

// PgBouncer on 127.0.0.1, with pool_mode=transaction and few sessions for many clients.
class pgbouncer {
public:
    explicit pgbouncer(std::uint16_t server_port, const std::vector<std::string>& more = {});

    std::uint16_t port() const noexcept { return port_; }

private:
    const std::string user_;
    temporary_folder folder_;
    std::uint16_t port_;
    process pooler_;
};

}  // namespace pawl::testing_servers
