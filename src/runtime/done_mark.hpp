// What an answer `already_done` stands on: a mark of the key, or the age of the store's data.
//
// Under a quarantine a store counts as done what it may have granted before it lost its data. Then
// it answers with the end of that time, which is no occurrence: none of them has to have run.
#pragma once

#include "runtime/engine.hpp"

#include <memory>
#include <optional>
#include <string>

namespace pawl::runtime {

// The latest occurrence that the key is marked with as done. Nothing: `wanted` is covered by no
// mark, and whether it has run is not known. `told` is already_done::last; where it can be but a
// mark, the store is not asked again. A failure says that this is not known either.
async<std::optional<occurrence>> find_done_mark(std::shared_ptr<engine> where, std::string key,
                                                occurrence wanted, occurrence told);

}  // namespace pawl::runtime
