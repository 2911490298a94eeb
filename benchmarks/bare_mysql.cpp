#include "benchmarks/bare_mysql.hpp"

#include "engines/mysql/client/session.hpp"
#include "test_support/servers/mysql_server.hpp"

#include <stdexcept>

namespace pawl::benchmarks {

using testing_servers::mysql_server;

bare_mysql::bare_mysql(std::uint16_t port) : handle_{mysql_init(nullptr)} {
    if (mysql_real_connect(handle_.get(), "127.0.0.1", mysql_server::user, mysql_server::password,
                           mysql_server::database, port, nullptr,
                           CLIENT_MULTI_STATEMENTS) == nullptr)
        throw std::runtime_error{mysql_error(handle_.get())};
    ask(mysql::session_statement().with({{"lock_wait", "2"}}));
}

std::vector<bare_mysql::told> bare_mysql::ask(const std::string& sql) {
    auto* by = handle_.get();
    if (mysql_real_query(by, sql.data(), sql.size()) != 0)
        throw std::runtime_error{mysql_error(by)};
    std::vector<told> all;
    for (;;) {
        auto& one = all.emplace_back(told{mysql_insert_id(by), mysql_affected_rows(by)});
        if (auto* rows = mysql_store_result(by)) {
            for (one.rows = 0; mysql_fetch_row(rows) != nullptr;) ++one.rows;
            mysql_free_result(rows);
        }
        const int next = mysql_next_result(by);
        if (next > 0) throw std::runtime_error{mysql_error(by)};
        if (next < 0) return all;
    }
}

}  // namespace pawl::benchmarks
