// The last steps of a forked child before it is the command.
#pragma once

#include "exec/command.hpp"
#include "exec/guarding.hpp"

#include <array>
#include <cstdint>

namespace pawl::exec {

// What goes through the pipe when a step fails.
struct child_setup_fault {
    std::uint32_t where = 0;  // a stage
    std::int32_t error = 0;   // errno
};

// Never returns. `tell` closes by itself when the command begins. Of the parent's descriptors the
// command gets its three streams and nothing else.
[[noreturn]] void set_up_child(const command& wanted, const std::array<int, 3>& streams, int tell,
                               pid_t guard, const context& inherited);

// Best effort: lower than before needs a privilege.
void write_oom_score_adj(int value);

}  // namespace pawl::exec
