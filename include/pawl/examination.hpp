// What a store says about its own health: the material of `pawl doctor` and of locks::examine().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pawl {

// How much a finding matters.
enum class severity {
    ok,    // as it has to be
    warn,  // works, and should be improved
    fail   // must be repaired
};

// One line of the doctor's report.
struct finding {
    // How much it matters. Default: ok.
    severity level = severity::ok;

    // What was checked, in one word, such as "persistence". The documentation of the doctor has a
    // section with this name.
    std::string check;

    // What was found and, unless `level` is ok, what would be right. One line without a secret.
    std::string text;
};

// Everything that one look at the store found.
struct examination {
    // The engine and its version, such as "Redis 7.0.15".
    std::string version;

    // The store's wall clock, in Unix microseconds; nothing: it has none.
    std::optional<std::int64_t> clock;

    // What rejects a stale token at this store, in the engine's own terms: a statement or a script
    // and what it works on. For the report of a drill.
    std::string fence_statement;

    // What was found; empty: there is nothing to say.
    std::vector<finding> findings;
};

}  // namespace pawl
