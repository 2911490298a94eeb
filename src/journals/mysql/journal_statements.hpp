// The statements of the journal's verbs, and what several of them are made of.
#pragma once

#include "stores/mysql/session.hpp"
#include "stores/mysql/statement.hpp"

#include <pawl/types.hpp>

#include <string>
#include <string_view>

namespace pawl::mysql {

// All of them, parsed once.
struct journal_statements {
    statement schema, layout, begin, begin_triggered, known, take, event, trim, skip, heartbeat,
        checkpoint, output, note, attempt, finish, ended, cancel, find, list, history, read_output,
        stale, prunable, prune, board, add_trigger, remove_trigger, pause, unpause, publish, retire,
        jobs, node, forget_nodes, node_leaves, nodes, audit_head, audit, list_audit;

    static const journal_statements& all();
};

const table_plan& journal_tables();

// The columns that a run is read from, of a row r.
const std::string& run_columns();

std::string text_of(fence_token token);
// One event of the run that the condition names, at an expression, and the end of the oldest ones.
std::string event_text(std::string_view which, std::string_view kind, std::string_view said,
                       std::string_view at = "UTC_TIMESTAMP(3)");
std::string trim_text(std::string_view run_number);

}  // namespace pawl::mysql
