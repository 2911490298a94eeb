// Servers that speak as MongoDB does, for tests: one that keeps conditions, and one that does not.
#pragma once

#include "test_support/servers/data_server.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace pawl::testing_servers {

// mongo-java-server, whose answers wait for its file. It stands alone, asks for no password, and
// listens on all addresses.
class mongodb_server : public data_server {
public:
    mongodb_server();

    // What a command is answered on a database, both as JSON; empty where it is not answered.
    std::string ask(const std::string& database, const std::string& command) const;

private:
    process launch() override;
    bool serves() const override;

    const std::filesystem::path program_;
};

// FerretDB, which says of several conditional writes at once that they have been done.
class unconditional_mongodb_server {
public:
    unconditional_mongodb_server();

    std::uint16_t port() const noexcept { return port_; }

private:
    temporary_folder folder_;
    std::uint16_t port_;
    process server_;
};

}  // namespace pawl::testing_servers
