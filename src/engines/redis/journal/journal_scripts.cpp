#include "engines/redis/journal/journal_scripts.hpp"

#include "add_trigger_lua.hpp"
#include "append_audit_lua.hpp"
#include "append_output_lua.hpp"
#include "begin_lua.hpp"
#include "cancel_lua.hpp"
#include "checkpoint_lua.hpp"
#include "control_state_lua.hpp"
#include "find_job_lua.hpp"
#include "find_lua.hpp"
#include "finish_lua.hpp"
#include "ground_lua.hpp"
#include "heartbeat_lua.hpp"
#include "history_lua.hpp"
#include "list_audit_lua.hpp"
#include "list_jobs_lua.hpp"
#include "list_lua.hpp"
#include "list_nodes_lua.hpp"
#include "next_attempt_lua.hpp"
#include "node_beat_lua.hpp"
#include "node_leave_lua.hpp"
#include "note_lua.hpp"
#include "pause_lua.hpp"
#include "prune_lua.hpp"
#include "publish_lua.hpp"
#include "read_output_lua.hpp"
#include "remove_trigger_lua.hpp"
#include "retire_lua.hpp"
#include "skip_lua.hpp"
#include "stale_lua.hpp"
#include "unpause_lua.hpp"

namespace pawl::redis {

journal_script::journal_script(std::string_view verb)
    : text_{std::string{embedded::ground_lua}.append(verb)}, whole_{text_} {}

journal_scripts::journal_scripts()
    : begin{embedded::begin_lua},
      heartbeat{embedded::heartbeat_lua},
      checkpoint{embedded::checkpoint_lua},
      append_output{embedded::append_output_lua},
      note{embedded::note_lua},
      next_attempt{embedded::next_attempt_lua},
      finish{embedded::finish_lua},
      skip{embedded::skip_lua},
      find{embedded::find_lua},
      list{embedded::list_lua},
      history{embedded::history_lua},
      read_output{embedded::read_output_lua},
      cancel{embedded::cancel_lua},
      stale{embedded::stale_lua},
      prune{embedded::prune_lua},
      control_state{embedded::control_state_lua},
      add_trigger{embedded::add_trigger_lua},
      remove_trigger{embedded::remove_trigger_lua},
      pause{embedded::pause_lua},
      resume_job{embedded::unpause_lua},
      publish{embedded::publish_lua},
      retire{embedded::retire_lua},
      list_jobs{embedded::list_jobs_lua},
      find_job{embedded::find_job_lua},
      node_heartbeat{embedded::node_beat_lua},
      node_leave{embedded::node_leave_lua},
      list_nodes{embedded::list_nodes_lua},
      append_audit{embedded::append_audit_lua},
      list_audit{embedded::list_audit_lua} {}

const journal_scripts& journal_scripts::all() {
    static const journal_scripts known;
    return known;
}

}  // namespace pawl::redis
