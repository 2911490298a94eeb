// A real etcd for tests: one node, or a cluster of several.
#pragma once

#include "test_support/servers/certificates.hpp"
#include "test_support/servers/process.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pawl::testing_servers {

struct etcd_options {
    std::size_t members = 1;
    std::shared_ptr<const certificates> tls;  // null: no TLS
    bool tls_expired = false;
    bool tls_wants_client = false;
    bool open_to_all = false;  // listens on all addresses of this machine
    // Commands of etcdctl, run in order before logins are asked for; empty: no logins. The user
    // root with this password is made first.
    std::string root_password;
    std::vector<std::vector<std::string>> users_and_roles;
    std::vector<std::string> more;  // further flags
};

// Data and ports stay the same for the life of the object.
class etcd_server {
public:
    explicit etcd_server(etcd_options options = {});

    std::size_t members() const noexcept { return members_.size(); }
    std::uint16_t port(std::size_t member = 0) const { return members_.at(member).client_port; }

    // Stopped in good order, or killed, and started again with their data.
    void restart();
    void crash(std::size_t member = 0);
    // Returns when the cluster serves again; begin() does not wait.
    void start(std::size_t member = 0);
    void begin(std::size_t member);
    // Killed, and started again with nothing.
    void lose_data();
    // A copy of a lone member's data, and its return: all that was written since is forgotten.
    void save_backup() const;
    void restore_backup();
    // The same with the folders of all members, copied while they are stopped: the cluster keeps
    // its identity.
    void save_folders();
    void restore_folders();
    // Returns when it stands still.
    void freeze(std::size_t member = 0) const;
    void thaw(std::size_t member = 0) const;
    void wait_until_healthy() const;
    // The member that leads. Waits until there is one among those that answer.
    std::size_t leader() const;

    // How many keys are watched, by its own metrics. Without TLS only.
    std::size_t watchers(std::size_t member = 0) const;

    // What etcdctl prints, asking as root where logins are asked for. Throws if it fails.
    std::string ask(const std::vector<std::string>& words) const;

private:
    struct member {
        std::uint16_t client_port = 0;
        std::uint16_t peer_port = 0;
        process server;
    };

    std::string scheme() const { return options_.tls ? "https" : "http"; }
    std::vector<std::string> command(std::size_t index) const;
    std::string log(std::size_t index) const;
    bool healthy() const;
    // Gives up after so many seconds.
    std::string run(const std::vector<std::string>& words, int& status, int seconds) const;
    void ask_for_logins();

    etcd_options options_;
    temporary_folder folder_;
    std::string user_;
    bool logins_ = false;
    std::vector<member> members_;
};

}  // namespace pawl::testing_servers
