// What the errors of a MySQL or MariaDB, and of its client library, mean to a caller.
#pragma once

#include <pawl/errors.hpp>

#include <string>
#include <string_view>

namespace pawl::mysql {

// An error as the server, or the client library for numbers from 2000 to 2999, words it.
struct server_error {
    unsigned number = 0;
    std::string words;
};

bool is_of_client(const server_error& error) noexcept;
// The transaction lost against another and had no effect: the same statement may be sent again.
bool is_conflict(const server_error& error) noexcept;
// The server ends the connection, as one that was idle for too long, and this is the last it says:
// it is no answer to the statement that it has crossed on its way.
bool ends_unasked(const server_error& error) noexcept;
// The connection is over, and the statement may be sent over another one.
bool was_not_executed(const server_error& error) noexcept;
// Another session keeps a row locked: for too long (both), or at all, for a text that said NOWAIT
// (MySQL has a number of its own for it).
bool is_locked(const server_error& error) noexcept;
// The server does not know the prepared statement, or not any more: it was not executed.
bool lost_prepared_statement(const server_error& error) noexcept;
bool is_missing_table(const server_error& error) noexcept;
// The server became one that cannot be written, as after a failover: another connection may do
// better.
bool is_read_only(const server_error& error) noexcept;

// The error of a statement, and the one of an attempt to connect.
failure explain_rejection(std::string_view place, const server_error& error);
failure explain_connecting(std::string_view place, const server_error& error);

}  // namespace pawl::mysql
