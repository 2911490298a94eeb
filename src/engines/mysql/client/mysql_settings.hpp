// Where a MySQL or MariaDB is, and how to log in to it.
#pragma once

#include "net/tls_settings.hpp"

#include <pawl/spi/store_settings.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

struct st_mysql;

namespace pawl::net {
template <class Given>
class provider;
}

namespace pawl::mysql {

// Where the application's own connections come from.
using connection_provider = net::provider<std::shared_ptr<st_mysql>>;

struct mysql_settings {
    store_settings common;
    std::string host = "127.0.0.1";
    std::uint16_t port = 3306;
    std::string unix_path;  // when set, host and port are not used
    std::string user;
    std::string password;
    std::string database;
    std::optional<net::tls_settings> tls;            // empty: no TLS
    std::size_t connections_max = 16;                // of one store; opened as they are needed
    std::size_t connections_min = 1;                 // that stay, once opened, even when idle
    millis idle_max{60'000};                         // the others are closed after that
    std::shared_ptr<connection_provider> lent_by{};  // then nothing of where and how counts
};

// What people call it, such as 10.0.0.7:3306; begins every detail of a failure. Holds no secret.
std::string place_of(const mysql_settings& settings);

}  // namespace pawl::mysql
