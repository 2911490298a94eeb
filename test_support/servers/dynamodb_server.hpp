// Amazon's DynamoDB for one machine, for tests. It takes any keys, and listens on all addresses.
#pragma once

#include "test_support/servers/data_server.hpp"

#include <cstdint>
#include <string>

namespace pawl::testing_servers {

class dynamodb_server : public data_server {
public:
    dynamodb_server();

    // What a request is answered, by its name and its body: signed with keys that are none.
    std::string ask(const std::string& operation, const std::string& body) const;

private:
    process launch() override;
    bool serves() const override;

    const std::filesystem::path libraries_;
};

}  // namespace pawl::testing_servers
