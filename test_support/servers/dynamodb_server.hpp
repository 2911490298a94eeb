// Amazon's DynamoDB for one machine, for tests. It takes any keys, and listens on all addresses.
#pragma once

#include "test_support/servers/process.hpp"

#include <cstdint>
#include <string>

namespace pawl::testing_servers {

// Port and data stay the same for the life of the object.
class dynamodb_server {
public:
    dynamodb_server();

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

    // What a request is answered, by its name and its body: signed with keys that are none.
    std::string ask(const std::string& operation, const std::string& body) const;

private:
    temporary_folder folder_;
    std::string user_;
    std::filesystem::path libraries_;
    std::uint16_t port_;
    process server_;
};

}  // namespace pawl::testing_servers
