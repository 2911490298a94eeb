// libmariadb as it comes: one blocking connection.
#pragma once

#include "engines/mysql/client/statement.hpp"

#include <mysql.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pawl::benchmarks {

class bare_mysql {
public:
    // To a server of the tests.
    explicit bare_mysql(std::uint16_t port);

    // What each of the statements did: the rows are those that it changed or found.
    struct told {
        std::uint64_t insert_id = 0, rows = 0;
    };
    std::vector<told> ask(const std::string& sql);
    // A prepared statement, which the first call prepares.
    told call(const mysql::prepared_call& what);

private:
    struct close {
        void operator()(MYSQL* handle) const { mysql_close(handle); }
    };
    struct end {
        void operator()(MYSQL_STMT* statement) const { mysql_stmt_close(statement); }
    };
    std::unique_ptr<MYSQL, close> handle_;
    std::map<const mysql::statement*, std::unique_ptr<MYSQL_STMT, end>> prepared_;
};

}  // namespace pawl::benchmarks
