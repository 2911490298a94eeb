// How the tests of the store and of the journal reach a PostgreSQL server of theirs.
#pragma once

#include "engines/postgresql/client/postgresql_settings.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace pawl::postgresql {

inline postgresql_settings on_port(std::uint16_t port, millis timeout = std::chrono::seconds{5}) {
    postgresql_settings settings;
    settings.common.timeout = timeout;
    settings.servers.servers.push_back({"127.0.0.1", "", std::to_string(port)});
    settings.servers.keywords = {{"user", "postgres"}, {"dbname", "postgres"}};
    return settings;
}

inline void set_keyword(connection_target& target, const std::string& name,
                        const std::string& value) {
    std::erase_if(target.keywords, [&](const keyword& one) { return one.name == name; });
    target.keywords.push_back({name, value});
}

}  // namespace pawl::postgresql
