// Assertions of pawl's own invariants, checked in every build.
#pragma once

#include <source_location>

namespace pawl::base {

// Prints where, and aborts: going on with a broken invariant could run a job twice.
[[noreturn]] void violated(const std::source_location& where) noexcept;
// Prints what a program did wrong where it cannot be thrown, and aborts.
[[noreturn]] void misused(const char* how) noexcept;

constexpr void ensure(bool condition,
                      const std::source_location where = std::source_location::current()) {
    if (!condition) violated(where);
}

}  // namespace pawl::base
