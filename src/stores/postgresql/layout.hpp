// The tables and functions that the verbs need, in a schema of their own: made by the first who
// may.
#pragma once

#include "stores/postgresql/wire.hpp"

#include <string>
#include <string_view>

namespace pawl::postgresql {

// Of schema.sql; a store with a higher one was made by a newer pawl.
constexpr std::int64_t layout_known = 1;

// A script or a statement for another schema than pawl, whose word it replaces.
std::string with_schema(std::string_view script, const std::string& schema);

// schema.sql, as an administrator runs it.
std::string layout_script(const std::string& schema);

// Looks at the layout and makes it if there is none, under a lock that lets one process of all do
// so.
async<void> ensure_layout(std::shared_ptr<wire> on, std::string schema);

}  // namespace pawl::postgresql
