// Where a PostgreSQL is, and how to log in to it.
#pragma once

#include <pawl/spi/store_settings.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct pg_conn;

namespace pawl::net {
template <class Given>
class provider;
}

namespace pawl::postgresql {

// Where the application's own connections come from.
using connection_provider = net::provider<std::shared_ptr<pg_conn>>;

// One of libpq's connection keywords, such as sslmode, handed to libpq as it is.
struct keyword {
    std::string name;
    std::string value;
};

// Each may be empty: then libpq has a default (PGHOST, a service file, a socket).
struct server_address {
    std::string host;     // a name, an address, or the folder of a socket
    std::string address;  // libpq's hostaddr: connect there, whatever the name says
    std::string port;
};

// What a URL says. Several servers are tried in order.
struct connection_target {
    std::vector<server_address> servers;
    std::vector<keyword> keywords;  // user, password, dbname, sslmode, ...
    std::string server_name;  // what the server's certificate must name; empty: the host dialled
    std::shared_ptr<connection_provider> lent_by{};  // then nothing else here counts

    const std::string* find(const std::string& name) const;
};

enum class preparation {
    automatic,  // until a pooler is seen to lose prepared statements
    off
};

struct postgresql_settings {
    store_settings common;
    connection_target servers;
    std::string schema = "pawl";  // a word of [a-z0-9_], so that it needs no quotes
    preparation prepare = preparation::automatic;
    std::size_t connections = 4;  // at most; others are opened when many requests wait
    bool listens = true;          // false: waiters poll
    std::optional<connection_target> notified_by;  // where to LISTEN, when not at `servers`
};

// The same, over one connection.
inline std::shared_ptr<const postgresql_settings> one_connection(postgresql_settings settings) {
    settings.connections = 1;
    return std::make_shared<const postgresql_settings>(std::move(settings));
}

// What people call it, such as db1:5432,db2:5432; begins every detail of a failure. No secret.
std::string place_of(const connection_target& target);
std::string place_of(const server_address& server);

}  // namespace pawl::postgresql
