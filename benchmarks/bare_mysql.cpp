#include "benchmarks/bare_mysql.hpp"

#include "engines/mysql/client/bound_value.hpp"
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

bare_mysql::told bare_mysql::call(const mysql::prepared_call& what) {
    auto& by = prepared_[what.of];
    if (!by) {
        by.reset(mysql_stmt_init(handle_.get()));
        const auto text = what.of->prepared();
        if (mysql_stmt_prepare(by.get(), text.data(), text.size()) != 0)
            throw std::runtime_error{mysql_stmt_error(by.get())};
    }
    std::vector<MYSQL_BIND> values;
    for (const auto name : what.of->names()) values.push_back(mysql::bound_value(what.find(name)));
    if (mysql_stmt_bind_param(by.get(), values.data()) != 0 || mysql_stmt_execute(by.get()) != 0)
        throw std::runtime_error{mysql_stmt_error(by.get())};
    return {mysql_stmt_insert_id(by.get()), mysql_stmt_affected_rows(by.get())};
}

}  // namespace pawl::benchmarks
