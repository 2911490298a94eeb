// The Lua scripts by which one node votes, each one atomic step there.
#pragma once

#include "engines/redis/store/scripts.hpp"

#include <string>

namespace pawl::redlock {

// Computed once for the process.
struct vote_scripts {
    static const vote_scripts& all();

private:
    vote_scripts();

    // The scripts by which a node promises something, behind the check of its quarantine.
    const std::string acquire_text_, confirm_text_, renew_text_, top_up_text_, prepare_text_,
        accept_text_;
    const std::string watch_text_;

public:
    redis::script acquire, confirm, renew, top_up, prepare, accept;
    redis::script withdraw, release, force_release, watch;
};

}  // namespace pawl::redlock
