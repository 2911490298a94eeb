// What the facade rejects before anything is asked of the store.
#pragma once

#include "runtime/engine.hpp"

#include <pawl/options.hpp>

#include <string_view>

namespace pawl::runtime {

// Each throws option_error, which says what is wrong and what would be right.
void check_key(std::string_view key);
void check_claim(const engine& what, std::string_view key, const lease_options& options,
                 const wait_policy& how_long);

}  // namespace pawl::runtime
