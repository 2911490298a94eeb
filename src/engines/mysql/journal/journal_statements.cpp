#include "engines/mysql/journal/journal_statements.hpp"

#include "engines/rules/journal/statement_list.hpp"
#include "schema_sql.hpp"
#include "statements_sql.hpp"

namespace pawl::mysql {

statement journal_statements::named(std::string_view name) {
    return statement{journals::statement_named(embedded::statements_sql, name)};
}

const journal_statements& journal_statements::all() {
    static const journal_statements them;
    return them;
}

const std::string& run_columns() {
    static const std::string columns =
        journal_statements::all().run_columns.with({{"checkpoint", "r.checkpoint"}});
    return columns;
}

const std::string& orphan_columns() {
    static const std::string columns =
        journal_statements::all().run_columns.with({{"checkpoint", "''"}});
    return columns;
}

const table_plan& journal_tables() {
    static const statement schema{embedded::schema_sql};
    static const table_plan plan{tables_of::journal,
                                 &schema,
                                 &journal_statements::all().layout,
                                 nullptr,
                                 {"pawl_job_run", "pawl_run_event", "pawl_run_output",
                                  "pawl_job_checkpoint", "pawl_run_trigger", "pawl_job_pause",
                                  "pawl_job", "pawl_node", "pawl_audit", "pawl_journal_marker"},
                                 1};
    return plan;
}

std::string text_of(fence_token token) { return std::to_string(number(token)); }

std::string event_text(std::string_view which, std::string_view kind, std::string_view said,
                       std::string_view at) {
    return journal_statements::all().event.with(
        {{"which", which}, {"at", at}, {"kind", literal(kind)}, {"said", literal(said)}});
}

std::string trim_text(std::string_view run_number) {
    return journal_statements::all().trim.with({{"run", run_number}});
}

}  // namespace pawl::mysql
