// How the tests of the store and of the journal reach a MySQL server of theirs.
#pragma once

#include "engines/mysql/client/mysql_settings.hpp"
#include "test_support/servers/mysql_server.hpp"

#include <chrono>
#include <cstdint>

namespace pawl::mysql {

inline mysql_settings on_port(std::uint16_t port, millis timeout = std::chrono::seconds{5}) {
    mysql_settings settings;
    settings.port = port;
    settings.user = testing_servers::mysql_server::user;
    settings.password = testing_servers::mysql_server::password;
    settings.database = testing_servers::mysql_server::database;
    settings.common.timeout = timeout;
    return settings;
}

}  // namespace pawl::mysql
