// The Lua scripts of the journal, each one atomic step at the server.
//
// Each is ground.lua, which names the keys and keeps the indexes, and behind it the verb's own.
#pragma once

#include "engines/redis/client/script.hpp"

#include <string>
#include <string_view>

namespace pawl::redis {

class journal_script {
public:
    explicit journal_script(std::string_view verb);
    journal_script(const journal_script&) = delete;
    journal_script& operator=(const journal_script&) = delete;

    const script& whole() const noexcept { return whole_; }

private:
    const std::string text_;
    const script whole_;  // looks at text_
};

// Computed once for the process.
struct journal_scripts {
    static const journal_scripts& all();

    journal_script begin, heartbeat, checkpoint, append_output, note, next_attempt, finish, skip;
    journal_script find, list, history, read_output, cancel, stale, prune;
    journal_script control_state, add_trigger, remove_trigger, pause, resume_job;
    journal_script publish, retire, list_jobs, find_job, node_heartbeat, node_leave, list_nodes;
    journal_script append_audit, list_audit;

private:
    journal_scripts();
};

}  // namespace pawl::redis
