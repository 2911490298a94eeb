// MySQL, for the laws of stores and for those of journals.
#pragma once

#include "test_support/conformance/engines/engine_on.hpp"
#include "test_support/servers/mysql_settings.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::conformance {

class mysql_running : public running_on_port<testing_servers::mysql_server> {
public:
    static std::string_view name() { return "mysql"; }
    static mysql::mysql_settings settings_at(const std::string& address, store_settings common) {
        auto to = mysql::on_port(static_cast<std::uint16_t>(std::stoi(address)));
        to.common = std::move(common);
        return to;
    }
    std::shared_ptr<void> block(const std::string& name_space, const std::string& key) {
        return server_.hold(
            "START TRANSACTION; SELECT 1 FROM pawl.pawl_lease WHERE name_space = '" + name_space +
            "' AND lock_key = '" + key + "' FOR UPDATE");
    }
};

}  // namespace pawl::conformance
