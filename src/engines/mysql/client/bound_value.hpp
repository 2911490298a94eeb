// A value as the client library takes it beside a prepared statement.
#pragma once

#include "engines/mysql/client/statement.hpp"

#include <mysql.h>

#include <cstdint>
#include <string>
#include <variant>

namespace pawl::mysql {

// Points into the value, which must stay until the statement has been executed.
inline MYSQL_BIND bound_value(const prepared_call::value& value) {
    MYSQL_BIND bound{};
    if (const auto* bytes = std::get_if<std::string>(&value)) {
        bound.buffer_type = MYSQL_TYPE_BLOB;
        bound.buffer = const_cast<char*>(bytes->data());
        bound.buffer_length = bytes->size();
    } else {
        bound.buffer_type = MYSQL_TYPE_LONGLONG;
        bound.buffer = const_cast<std::int64_t*>(&std::get<std::int64_t>(value));
    }
    return bound;
}

}  // namespace pawl::mysql
