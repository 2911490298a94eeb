// The server of the laws, of leases and of journals.
#pragma once

#include "engines/dynamodb/store/dynamodb_fixture.hpp"
#include "test_support/conformance/engines/engine_on.hpp"

#include <string_view>

namespace pawl::conformance {

class dynamodb_running
    : public running_for_cloud<testing_servers::dynamodb_server, dynamodb::on_port> {
public:
    static std::string_view name() { return "dynamodb"; }
};

}  // namespace pawl::conformance
