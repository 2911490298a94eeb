// The statements of the journal's verbs: each calls the function of its name in the schema.
#pragma once

#include "engines/postgresql/client/statement.hpp"

#include <string>

namespace pawl::postgresql {

// SELECT * FROM pawl.journal_NAME_v1($1, …) with so many arguments.
inline statement_text call_of(const std::string& schema, const std::string& name, int arguments,
                              int version = 1) {
    auto sql =
        "SELECT * FROM " + schema + ".journal_" + name + "_v" + std::to_string(version) + "(";
    for (int i = 1; i <= arguments; ++i) sql += (i == 1 ? "$" : ", $") + std::to_string(i);
    return statement_text{sql + ")"};
}

struct journal_statements {
    explicit journal_statements(const std::string& schema)
        : begin{call_of(schema, "begin", 14)},
          skip{call_of(schema, "skip", 13)},
          heartbeat{call_of(schema, "heartbeat", 3)},
          checkpoint{call_of(schema, "checkpoint", 4)},
          output{call_of(schema, "output", 6)},
          note{call_of(schema, "note", 5)},
          attempt{call_of(schema, "attempt", 6)},
          finish{call_of(schema, "finish", 6)},
          judge{call_of(schema, "judge", 6)},
          cancel{call_of(schema, "cancel", 3)},
          find{call_of(schema, "find", 2)},
          occurrence{call_of(schema, "firing", 4)},
          list{call_of(schema, "list", 6)},
          history{call_of(schema, "history", 2)},
          read_output{call_of(schema, "read_output", 4)},
          stale{"SELECT * FROM " + schema + ".journal_stale_v1($1, $2) OFFSET $3"},
          prune{call_of(schema, "prune", 5)},
          control_state{call_of(schema, "board", 2)},
          add_trigger{call_of(schema, "add_trigger", 7)},
          remove_trigger{call_of(schema, "remove_trigger", 2)},
          pause{call_of(schema, "pause", 4)},
          resume_job{call_of(schema, "unpause", 2)},
          publish{call_of(schema, "publish", 7, 2)},
          retire{call_of(schema, "retire", 3)},
          jobs{call_of(schema, "jobs", 4)},
          node{call_of(schema, "node", 9)},
          node_leaves{call_of(schema, "node_leaves", 2)},
          nodes{call_of(schema, "nodes", 3)},
          audit_head{call_of(schema, "audit_head", 1)},
          audit{call_of(schema, "audit", 9)},
          list_audit{call_of(schema, "list_audit", 3)} {}

    const statement_text begin, skip, heartbeat, checkpoint, output, note, attempt, finish, judge,
        cancel, find, occurrence, list, history, read_output, stale, prune, control_state,
        add_trigger, remove_trigger, pause, resume_job, publish, retire, jobs, node, node_leaves,
        nodes, audit_head, audit, list_audit;
};

}  // namespace pawl::postgresql
