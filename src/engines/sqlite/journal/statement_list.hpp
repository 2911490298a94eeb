// The statements of a journal, and what the tables that ask them share.
#pragma once

#include "engines/sqlite/client/connection.hpp"

#include <initializer_list>
#include <string_view>
#include <utility>

namespace pawl::sqlite {

// That of statements.sql with this name.
std::string_view sql(std::string_view name);

// What the tables of a journal share: the first error since start() sticks, and turns the answers
// that follow into nothing; so the caller that decides on them looks at fault() before it commits.
class noted_statements {
public:
    explicit noted_statements(connection& on) : on_{on} {}

    connection& by() noexcept { return on_; }
    void start() noexcept { fault_ = SQLITE_OK; }
    int fault() const noexcept { return fault_; }

protected:
    // Another row of a statement that was started.
    bool row(statement& of) {
        const bool found = fault_ == SQLITE_OK && of.next();
        if (!found && fault_ == SQLITE_OK && of.code() != SQLITE_DONE) fault_ = of.code();
        return found;
    }
    // A statement without rows.
    template <class... Values>
    void run(statement& which, const Values&... values) {
        which.start(values...);
        row(which);
        which.reset();
    }
    // Whether a statement with RETURNING wrote a row.
    template <class... Values>
    bool wrote(statement& which, const Values&... values) {
        which.start(values...);
        const bool any = row(which);
        while (row(which)) continue;
        which.reset();
        return any;
    }

private:
    connection& on_;
    int fault_ = SQLITE_OK;
};

}  // namespace pawl::sqlite
