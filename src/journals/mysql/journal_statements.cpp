#include "journals/mysql/journal_statements.hpp"

#include "add_trigger_sql.hpp"
#include "attempt_sql.hpp"
#include "audit_head_sql.hpp"
#include "audit_sql.hpp"
#include "begin_sql.hpp"
#include "begin_triggered_sql.hpp"
#include "board_sql.hpp"
#include "cancel_sql.hpp"
#include "checkpoint_sql.hpp"
#include "ended_sql.hpp"
#include "event_sql.hpp"
#include "find_sql.hpp"
#include "finish_sql.hpp"
#include "forget_nodes_sql.hpp"
#include "heartbeat_sql.hpp"
#include "history_sql.hpp"
#include "jobs_sql.hpp"
#include "known_sql.hpp"
#include "layout_sql.hpp"
#include "list_audit_sql.hpp"
#include "list_sql.hpp"
#include "node_leaves_sql.hpp"
#include "node_sql.hpp"
#include "nodes_sql.hpp"
#include "note_sql.hpp"
#include "output_sql.hpp"
#include "pause_sql.hpp"
#include "prunable_sql.hpp"
#include "prune_sql.hpp"
#include "publish_sql.hpp"
#include "read_output_sql.hpp"
#include "remove_trigger_sql.hpp"
#include "retire_sql.hpp"
#include "schema_sql.hpp"
#include "skip_sql.hpp"
#include "stale_sql.hpp"
#include "take_sql.hpp"
#include "trim_sql.hpp"
#include "unpause_sql.hpp"

namespace pawl::mysql {
namespace {

std::string millis_of(std::string_view column) {
    return "TIMESTAMPDIFF(MICROSECOND,'1970-01-01'," + std::string{column} + ") DIV 1000";
}

}  // namespace

const std::string& run_columns() {
    static const std::string columns =
        "r.run_number,r.run_id,r.job_name,r.partition_number,r.lease_key,r.lock_owner,r.node,"
        "r.fence_token,r.occurrence,r.at_least_once,r.started_by,r.status,r.reason," +
        millis_of("r.started_at") + "," + millis_of("r.completed_at") + "," +
        millis_of("r.last_heartbeat") +
        ",r.exit_status,r.attempt,r.checkpoint,r.output_size,r.cancel_requested,r.silence_max,"
        "r.taken_over";
    return columns;
}

const journal_statements& journal_statements::all() {
    static const journal_statements them{
        statement{embedded::schema_sql},         statement{embedded::layout_sql},
        statement{embedded::begin_sql},          statement{embedded::begin_triggered_sql},
        statement{embedded::known_sql},          statement{embedded::take_sql},
        statement{embedded::event_sql},          statement{embedded::trim_sql},
        statement{embedded::skip_sql},           statement{embedded::heartbeat_sql},
        statement{embedded::checkpoint_sql},     statement{embedded::output_sql},
        statement{embedded::note_sql},           statement{embedded::attempt_sql},
        statement{embedded::finish_sql},         statement{embedded::ended_sql},
        statement{embedded::cancel_sql},         statement{embedded::find_sql},
        statement{embedded::list_sql},           statement{embedded::history_sql},
        statement{embedded::read_output_sql},    statement{embedded::stale_sql},
        statement{embedded::prunable_sql},       statement{embedded::prune_sql},
        statement{embedded::board_sql},          statement{embedded::add_trigger_sql},
        statement{embedded::remove_trigger_sql}, statement{embedded::pause_sql},
        statement{embedded::unpause_sql},        statement{embedded::publish_sql},
        statement{embedded::retire_sql},         statement{embedded::jobs_sql},
        statement{embedded::node_sql},           statement{embedded::forget_nodes_sql},
        statement{embedded::node_leaves_sql},    statement{embedded::nodes_sql},
        statement{embedded::audit_head_sql},     statement{embedded::audit_sql},
        statement{embedded::list_audit_sql}};
    return them;
}

const table_plan& journal_tables() {
    static const table_plan plan{tables_of::journal,
                                 &journal_statements::all().schema,
                                 &journal_statements::all().layout,
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
