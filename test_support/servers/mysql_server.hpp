// A real MariaDB for tests.
#pragma once

#include "test_support/servers/certificates.hpp"
#include "test_support/servers/process.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pawl::testing_servers {

struct mysql_server_options {
    bool synced = true;             // each commit is written before it is answered
    std::vector<std::string> more;  // lines of my.cnf
    // The certificate that the server shows; empty: no TLS.
    std::shared_ptr<const certificates> tls;
    bool tls_expired = false;
};

// Listens on 127.0.0.1, with a database `pawl` and a user `locker` who has the documented
// privileges on it. Not thread-safe.
class mysql_server {
public:
    static constexpr const char* user = "locker";
    static constexpr const char* password = "s3cret";
    static constexpr const char* database = "pawl";

    explicit mysql_server(mysql_server_options options = {});

    std::uint16_t port() const noexcept { return port_; }
    std::string unix_path() const { return (folder_.path() / "s.sock").string(); }

    // Each returns when the server answers again or is gone.
    void restart();       // ended in good order
    void crash();         // SIGKILL
    void start();         // after a crash
    void lose_data();     // killed, wiped, started
    void freeze() const;  // SIGSTOP
    void thaw() const;    // SIGCONT

    // Runs statements as an administrator and gives back all rows as text, cells apart by tabs;
    // throws on an error.
    std::string ask(const std::string& sql) const;
    // Runs them in a session that lasts as long as what is given back, as a transaction does that
    // keeps rows locked.
    std::shared_ptr<void> hold(const std::string& sql) const;
    std::int64_t count(const std::string& sql) const { return std::stoll(ask(sql)); }

private:
    bool answers() const;
    void write_configuration() const;
    void copy_data() const;

    const mysql_server_options options_;
    const std::string run_as_;
    // In memory MariaDB would map its log, and then it answers a commit while records before it are
    // still being copied there: SIGKILL at that moment loses what was answered.
    temporary_folder folder_{temporary_folder::storage::disk};
    std::uint16_t port_;
    process server_;
};

}  // namespace pawl::testing_servers
