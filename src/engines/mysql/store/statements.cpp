#include "engines/mysql/store/statements.hpp"

#include "acquire_occurrence_sql.hpp"
#include "acquire_record_sql.hpp"
#include "acquire_sql.hpp"
#include "fence_rejection_sql.hpp"
#include "fence_sql.hpp"
#include "force_release_sql.hpp"
#include "held_sql.hpp"
#include "layout_sql.hpp"
#include "list_sql.hpp"
#include "purge_sql.hpp"
#include "rejection_sql.hpp"
#include "release_done_sql.hpp"
#include "release_sql.hpp"
#include "renew_sql.hpp"
#include "report_sql.hpp"
#include "schema_sql.hpp"
#include "sweep_sql.hpp"
#include "whole_sql.hpp"
#include "withdraw_sql.hpp"

namespace pawl::mysql {

namespace {

// A statement whose other names stay open.
statement record_claim(std::string_view done, std::string_view due) {
    const statement whole{embedded::acquire_record_sql};
    return statement{whole.with({{"space", "{space}"},
                                 {"key", "{key}"},
                                 {"id", "{id}"},
                                 {"owner", "{owner}"},
                                 {"ttl_us", "{ttl_us}"},
                                 {"mark", "{mark}"},
                                 {"done", done},
                                 {"due", due}})};
}

statement release_at_once() {
    const statement whole{embedded::release_sql};
    return statement{whole.with(
        {{"space", "{space}"}, {"key", "{key}"}, {"token", "{token}"}, {"until", "{now}"}})};
}

constexpr std::string_view due =
    " AND (last_done IS NULL OR last_done < {due_ms}) AND {due_us} - {now} <= {skew_us}";

}  // namespace

const statements& statements::all() {
    static const statements them{statement{embedded::acquire_record_sql},
                                 statement{embedded::acquire_sql},
                                 statement{embedded::acquire_occurrence_sql},
                                 statement{embedded::rejection_sql},
                                 statement{embedded::withdraw_sql},
                                 statement{embedded::renew_sql},
                                 statement{embedded::release_sql},
                                 statement{embedded::release_done_sql},
                                 statement{embedded::force_release_sql},
                                 statement{embedded::list_sql},
                                 statement{embedded::held_sql},
                                 statement{embedded::fence_sql},
                                 statement{embedded::fence_rejection_sql},
                                 statement{embedded::sweep_sql},
                                 statement{embedded::purge_sql},
                                 statement{embedded::schema_sql},
                                 statement{embedded::layout_sql},
                                 statement{embedded::whole_sql},
                                 statement{embedded::report_sql},
                                 record_claim("", ""),
                                 record_claim("", due),
                                 record_claim(", last_done = {due_ms}", due),
                                 release_at_once()};
    return them;
}

const table_plan& lease_tables() {
    static const table_plan plan{tables_of::leases,
                                 &statements::all().schema,
                                 &statements::all().layout,
                                 &statements::all().whole,
                                 {"pawl_lease", "pawl_floor", "pawl_fence", "pawl_marker"},
                                 1};
    return plan;
}

}  // namespace pawl::mysql
