// libmariadb as it comes: one blocking connection.
#pragma once

#include <mysql.h>

#include <cstdint>
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

private:
    struct close {
        void operator()(MYSQL* handle) const { mysql_close(handle); }
    };
    std::unique_ptr<MYSQL, close> handle_;
};

}  // namespace pawl::benchmarks
