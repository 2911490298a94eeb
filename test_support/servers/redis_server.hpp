// A real Redis or Valkey for tests.
#pragma once

#include "test_support/servers/certificates.hpp"
#include "test_support/servers/process.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::testing_servers {

enum class redis_persistence {
    none,           // a restart loses everything
    append_synced,  // every write is on disk before it is answered
    append_lazily   // synced once a second
};

enum class redis_kind { redis, valkey };

struct redis_options {
    redis_kind kind = redis_kind::redis;
    redis_persistence persistence = redis_persistence::none;
    std::vector<std::string> users;          // ACL lines without the word "user"
    std::string password;                    // of the default user
    bool unix_socket = false;                // beside the port
    std::optional<std::string> maxmemory{};  // such as 3mb
    std::uint16_t primary = 0;               // replicates the one on that port
    // A TLS port with this certificate beside the plain one.
    std::shared_ptr<const certificates> tls;
    bool tls_expired = false;       // with the expired certificate
    bool tls_wants_client = false;  // clients need a certificate as well
    std::vector<std::string> more;  // lines of redis.conf
};

// Sends one command to whatever speaks RESP on that port of 127.0.0.1 and gives back the reply as
// text, an array line by line; throws on an error.
std::string ask_redis(std::uint16_t port, const std::string& password,
                      const std::vector<std::string>& words);

// Listens on 127.0.0.1. Not thread-safe.
class redis_server {
public:
    explicit redis_server(redis_options options = {});

    std::uint16_t port() const noexcept { return port_; }
    std::uint16_t tls_port() const noexcept { return tls_port_; }
    pid_t pid() const noexcept { return server_.pid(); }
    std::string unix_path() const { return (folder_.path() / "redis.sock").string(); }

    // Each returns when the server answers again or is gone.
    void restart();    // ended in good order: what was written is there, if it persists
    void crash();      // SIGKILL
    void start();      // after a crash
    void lose_data();  // killed, wiped, started
    // The steps of it, for several that are to start at once.
    void forget() const;  // what it has written, while it is down
    void launch();
    void wait_until_ready() const;
    void freeze() const;  // SIGSTOP
    void thaw() const;    // SIGCONT

    // Sends one command as an administrator and gives back the reply as text; throws on an error.
    std::string ask(const std::vector<std::string>& words) const;

private:
    bool answers() const;
    void write_configuration() const;

    const redis_options options_;
    const std::string user_;
    const std::string program_;
    temporary_folder folder_;
    std::uint16_t port_;
    std::uint16_t tls_port_ = 0;
    process server_;
};

}  // namespace pawl::testing_servers
