// Whether a medium keeps its word: eight writers race for one record, and one of them may win.
//
// There are servers that take the condition of a write and do not look at it, or look at it and let
// several through at once. A lease on them is held by two sooner or later, so they are refused.
#pragma once

#include "engines/cas/store/ledger.hpp"

#include <memory>

namespace pawl::cas {

constexpr std::size_t racers = 8;
constexpr int race_rounds = 3;

// Races on a scratch record, which is erased afterwards. `unsupported` when the medium let two win,
// or kept another state than the winner's. Any other failure: the race has come to no end.
async<void> race(std::shared_ptr<ledger> on, instant until);

}  // namespace pawl::cas
