// The Lua scripts of the store, each one atomic step at the server.
#pragma once

#include "engines/redis/client/script.hpp"

#include <string>
#include <string_view>

namespace pawl::redis {

// Puts the function that judges a quarantine (rule 7) before a script.
std::string behind_whole_since(std::string_view script);
// The same with the reading of a record that must be there.
std::string behind_record(std::string_view script);

// Computed once for the process.
class scripts {
public:
    static const scripts& all();

private:
    scripts();

    // The scripts are views of these.
    const std::string acquire_text_, fence_text_, release_text_, watch_text_, list_text_,
        sweep_text_;

public:
    const script acquire, withdraw, renew, release, force_release, inspect, inspect_many, list,
        sweep, watch, fence;
};

}  // namespace pawl::redis
