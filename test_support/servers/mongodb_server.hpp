// A server that speaks as MongoDB does, for tests: mongo-java-server, whose answers wait for its
// file. It stands alone, asks for no password, and listens on all addresses.
#pragma once

#include "test_support/servers/data_server.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace pawl::testing_servers {

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

}  // namespace pawl::testing_servers
