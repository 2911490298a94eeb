// What the facade rejects before anything is asked of the store.
#pragma once

#include "runtime/engine.hpp"

#include <pawl/options.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::runtime {

// Each throws option_error, which says what is wrong and what would be right.
void check_key(std::string_view key);
void check_claim(const engine& what, std::string_view key, const lease_options& options,
                 const wait_policy& how_long);
// Of a semaphore: one of the keys NAME/0 to NAME/(count-1).
void check_slots(const engine& what, const std::string& name, std::int64_t count,
                 const lease_options& options, const wait_policy& how_long);

}  // namespace pawl::runtime
