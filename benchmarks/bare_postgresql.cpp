#include "benchmarks/bare_postgresql.hpp"

#include <stdexcept>
#include <string>

namespace pawl::benchmarks {

using postgresql::rows;
using postgresql::statement;

bare_postgresql::bare_postgresql(std::uint16_t port)
    : session_{
          PQconnectdb(("host=127.0.0.1 user=postgres dbname=postgres port=" + std::to_string(port))
                          .c_str()),
          PQfinish} {
    if (PQstatus(session_.get()) != CONNECTION_OK)
        throw std::runtime_error{PQerrorMessage(session_.get())};
}

void bare_postgresql::prepare(const statement& what) {
    what.send_prepare(session_.get());
    finish();
}

rows bare_postgresql::ask(const statement& what) {
    what.send_prepared(session_.get());
    return finish();
}

rows bare_postgresql::finish() {
    rows last;
    while (auto* got = PQgetResult(session_.get())) {
        last = rows{got};
        const auto status = PQresultStatus(got);
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
            throw std::runtime_error{PQresultErrorMessage(got)};
    }
    return last;
}

}  // namespace pawl::benchmarks
