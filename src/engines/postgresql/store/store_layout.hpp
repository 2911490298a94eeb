// The layout of the store: schema.sql.
#pragma once

#include "engines/postgresql/client/layout.hpp"

#include <string>

namespace pawl::postgresql {

const layout_plan& store_layout();

// schema.sql, as an administrator runs it.
std::string layout_script(const std::string& schema);

}  // namespace pawl::postgresql
