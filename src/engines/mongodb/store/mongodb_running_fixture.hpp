// The server of the laws, of leases and of journals.
#pragma once

#include "engines/mongodb/store/mongodb_fixture.hpp"
#include "test_support/conformance/engines/engine_on.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::conformance {

class mongodb_running : public running_on_port<testing_servers::mongodb_server> {
public:
    static std::string_view name() { return "mongodb"; }
    // A waiter looks once a second.
    static constexpr std::uint64_t contested_grants = 10;
    static mongodb::mongodb_settings settings_at(const std::string& address,
                                                 store_settings common) {
        auto to = mongodb::on_port(static_cast<std::uint16_t>(std::stoi(address)));
        to.common = std::move(common);
        // The local server takes its time, above all beside other tests.
        to.common.timeout = std::chrono::seconds{20};
        return to;
    }
};

}  // namespace pawl::conformance
