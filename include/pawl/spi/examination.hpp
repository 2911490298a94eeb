// What a store says of its own health: the material of `pawl doctor`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pawl {

enum class severity { ok, warn, fail };

// One line of the doctor's report.
struct finding {
    severity level = severity::ok;
    std::string check;  // what was looked at, such as "persistence": a section of docs/runbook.md
    std::string text;   // what was found and, unless ok, what would be right; one line, no secret
};

struct examination {
    std::string version;                // of the engine, such as "Redis 7.0.15"
    std::optional<std::int64_t> clock;  // the store's wall clock, Unix microseconds, if it has one
    // What refuses a stale token at this store, in the engine's own terms, such as "EVALSHA of
    // fence.lua on pawl:fence:RESOURCE"; for the report of a drill.
    std::string fence_statement;
    std::vector<finding> findings;
};

}  // namespace pawl
