#include "engines/sqlite/journal/statement_list.hpp"

#include "engines/rules/journal/statement_list.hpp"

#include "statements_sql.hpp"

namespace pawl::sqlite {

std::string_view sql(std::string_view name) {
    return journals::statement_named(embedded::statements_sql, name);
}

}  // namespace pawl::sqlite
