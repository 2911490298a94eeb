// The server of the laws, of leases and of journals.
#pragma once

#include "engines/mongodb/store/mongodb_fixture.hpp"
#include "test_support/conformance/engines/engine_on.hpp"

#include <string_view>

namespace pawl::conformance {

class mongodb_running
    : public running_for_cloud<testing_servers::mongodb_server, mongodb::on_port> {
public:
    static std::string_view name() { return "mongodb"; }
};

}  // namespace pawl::conformance
