// A server that speaks as MongoDB does, for tests: mongo-java-server, whose answers wait for its
// file. It stands alone, asks for no password, and listens on all addresses.
#pragma once

#include "test_support/servers/process.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace pawl::testing_servers {

// Port and data stay the same for the life of the object.
class mongodb_server {
public:
    mongodb_server();

    std::uint16_t port() const noexcept { return port_; }

    // Stopped in good order, or killed, and started again with its data.
    void restart();
    void crash() { server_.kill(); }
    // Returns when it serves.
    void start();
    // Killed, and started again with nothing.
    void lose_data();
    // Returns when it stands still.
    void freeze() const { server_.freeze(); }
    void thaw() const { server_.thaw(); }

    // What a command is answered on a database, both as JSON; empty where it is not answered.
    std::string ask(const std::string& database, const std::string& command) const;
    // The same of any server.
    static std::string ask_at(const std::string& uri, const std::string& database,
                              const std::string& command);

private:
    temporary_folder folder_;
    std::string user_;
    std::filesystem::path program_;
    std::uint16_t port_;
    process server_;
};

}  // namespace pawl::testing_servers
