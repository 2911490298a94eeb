// The statements of the journal's verbs, and what several of them are made of.
#pragma once

#include "engines/mysql/client/session.hpp"
#include "engines/mysql/client/statement.hpp"

#include <pawl/types.hpp>

#include <string>
#include <string_view>

namespace pawl::mysql {

// All of statements.sql, parsed once.
struct journal_statements {
    static const journal_statements& all();

    statement layout = named("layout"), begin = named("begin"),
              begin_triggered = named("begin_triggered"), known = named("known"),
              take = named("take"), call_off = named("call_off"), skip = named("skip"),
              event = named("event"), trim = named("trim"), heartbeat = named("heartbeat"),
              alive = named("alive"), checkpoint = named("checkpoint"), output = named("output"),
              note = named("note"), attempt = named("attempt"), finish = named("finish"),
              ended = named("ended"), cancel = named("cancel"), find = named("find"),
              list = named("list"), history = named("history"), read_output = named("read_output"),
              stale = named("stale"), prunable = named("prunable"), prune = named("prune"),
              control_state = named("control_state"), add_trigger = named("add_trigger"),
              remove_trigger = named("remove_trigger"), pause = named("pause"),
              resume_job = named("unpause"), publish = named("publish"), retire = named("retire"),
              jobs = named("jobs"), node = named("node"), forget_nodes = named("forget_nodes"),
              node_leaves = named("node_leaves"), nodes = named("nodes"),
              audit_head = named("audit_head"), audit = named("audit"),
              list_audit = named("list_audit"), run_columns = named("run_columns"),
              of_id = named("of_id"), of_occurrence = named("of_firing"),
              of_locked = named("of_locked"), of_written = named("of_written"),
              of_taken = named("of_taken"), last_saved = named("last_saved"), told = named("told"),
              and_job = named("and_job"), and_node = named("and_node"),
              and_status = named("and_status"), and_silent = named("and_silent"),
              and_reason = named("and_reason"), aged = named("aged"),
              published = named("published"), job_named = named("job_named"),
              job_behind = named("job_behind");

private:
    static statement named(std::string_view name);
};

const table_plan& journal_tables();

const std::string& run_columns();
// Without the checkpoint.
const std::string& orphan_columns();

std::string text_of(fence_token token);
// One event of the run that the condition names, at an expression, and the end of the oldest ones.
std::string event_text(std::string_view which, std::string_view kind, std::string_view said,
                       std::string_view at = "UTC_TIMESTAMP(3)");
std::string trim_text(std::string_view run_number);

}  // namespace pawl::mysql
