// A real ZooKeeper for tests: one server, or one of an ensemble.
#pragma once

#include "test_support/servers/certificates.hpp"
#include "test_support/servers/process.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pawl::testing_servers {

struct zookeeper_options {
    std::chrono::milliseconds tick{200};
    std::chrono::milliseconds session_min{400};
    std::chrono::milliseconds session_max{800'000'000};  // longer than the longest lease
    std::shared_ptr<const certificates> tls;             // a TLS port beside the plain one
    std::vector<std::string> more;                       // lines of zoo.cfg
    std::vector<std::string> properties;                 // without -D
};

// Listens on 127.0.0.1. Not thread-safe.
class zookeeper_server {
public:
    explicit zookeeper_server(zookeeper_options options = {});

    std::uint16_t port() const noexcept { return port_; }
    std::uint16_t tls_port() const noexcept { return tls_port_; }
    pid_t pid() const noexcept { return server_.pid(); }

    void start();
    void stop() { server_.stop(); }
    void restart();
    void crash();
    // Starts again with nothing in it.
    void lose_data();
    // A copy of the data, taken while it is stopped, and its return: all that was written since is
    // forgotten. For a server of its own.
    void save_data();
    void restore_data();
    void freeze() const;
    void thaw() const;

    // The reply to a four-letter word; empty when there is none.
    std::string ask(const std::string& word) const;
    // The value of a line of `mntr`, such as zk_znode_count.
    long measure(const std::string& name) const;
    // leader, follower, standalone; empty while it serves nobody.
    std::string mode() const;

private:
    friend class zookeeper_ensemble;
    // One of several, told apart by `number` from 1; does not start yet.
    zookeeper_server(zookeeper_options options, int number, const std::vector<std::string>& peers);

    void write_configuration(const std::vector<std::string>& peers);
    void launch();
    void copy_data(const std::string& from, const std::string& to) const;

    zookeeper_options options_;
    std::string user_;
    temporary_folder folder_;
    std::uint16_t port_;
    std::uint16_t tls_port_;
    int number_ = 0;
    process server_;
};

// Three servers that elect a leader.
class zookeeper_ensemble {
public:
    explicit zookeeper_ensemble(zookeeper_options options = {});

    // host:port,host:port,host:port
    std::string hosts() const;
    std::vector<std::uint16_t> ports() const;
    zookeeper_server& at(std::size_t place) { return *servers_[place]; }
    // The one that leads; waits until there is one.
    zookeeper_server& leader();
    zookeeper_server& follower();
    void wait_until_serving();
    // Of all servers.
    void save_data();
    void restore_data();

private:
    std::vector<std::unique_ptr<zookeeper_server>> servers_;
};

}  // namespace pawl::testing_servers
