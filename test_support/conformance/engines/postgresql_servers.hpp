// PostgreSQL, for the laws of stores and for those of journals.
#pragma once

#include "test_support/conformance/engines/engine_on.hpp"
#include "test_support/servers/postgresql_server.hpp"
#include "test_support/servers/postgresql_settings.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::conformance {

class postgresql_running : public running_on_port<testing_servers::postgresql_server> {
public:
    static std::string_view name() { return "postgresql"; }
    static postgresql::postgresql_settings settings_at(const std::string& address,
                                                       store_settings common) {
        auto to = postgresql::on_port(static_cast<std::uint16_t>(std::stoi(address)));
        to.common = std::move(common);
        return to;
    }
    std::shared_ptr<void> block(const std::string& name_space, const std::string& key) {
        return server_.hold("BEGIN; SELECT * FROM pawl.lease WHERE name_space = '" + name_space +
                            "' AND key = '" + key + "' FOR UPDATE");
    }
};

}  // namespace pawl::conformance
