// What an error of PostgreSQL, of libpq or of a pooler means for the caller.
#pragma once

#include <pawl/errors.hpp>

#include <string>
#include <string_view>

namespace pawl::postgresql {

// An error that answers a statement. The transaction was rolled back, so none of these is an
// unknown outcome, but for an error that ends the connection.
failure explain_error(std::string_view place, std::string_view sqlstate, std::string_view message);

// Why no connection could be made, from libpq's message in its verbose form, which holds the
// SQLSTATE of what the server said.
failure explain_connection(std::string_view place, std::string_view message);

// What pawl can do something about itself.
bool lost_prepared_statement(std::string_view sqlstate) noexcept;
bool wants_own_transaction(std::string_view sqlstate) noexcept;
bool misses_schema(std::string_view sqlstate) noexcept;
bool lost_against_another(std::string_view sqlstate) noexcept;
bool waited_for_lock(std::string_view sqlstate) noexcept;

}  // namespace pawl::postgresql
