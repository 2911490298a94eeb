#include "engines/postgresql/store/store_layout.hpp"

#include "schema_sql.hpp"

namespace pawl::postgresql {

const layout_plan& store_layout() {
    static const layout_plan plan{embedded::schema_sql,
                                  "postgresql.sql",
                                  "layout",
                                  "withdraw_v4(text, bytea, bytea, bigint)",
                                  "layout",
                                  1,
                                  "lease"};
    return plan;
}

std::string layout_script(const std::string& schema) {
    return with_schema(embedded::schema_sql, schema);
}

}  // namespace pawl::postgresql
