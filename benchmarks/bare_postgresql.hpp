// libpq as it comes: one blocking connection, and statements that it has prepared.
#pragma once

#include "engines/postgresql/client/statement.hpp"

#include <cstdint>
#include <memory>

namespace pawl::benchmarks {

class bare_postgresql {
public:
    explicit bare_postgresql(std::uint16_t port);

    void prepare(const postgresql::statement& what);
    postgresql::rows ask(const postgresql::statement& what);

private:
    postgresql::rows finish();

    std::unique_ptr<PGconn, void (*)(PGconn*)> session_;
};

}  // namespace pawl::benchmarks
