// The tables and functions that the verbs need, in a schema of their own: made by the first who
// may.
#pragma once

#include "engines/postgresql/client/wire.hpp"

#include <string>
#include <string_view>

namespace pawl::postgresql {

// What has to lie in the schema before its functions can be called.
struct layout_plan {
    std::string_view script;     // for the schema pawl
    std::string_view installed;  // the file of the script, for administrators
    std::string_view function;   // tells the version of what lies there
    std::string_view newest;     // the one that came last, with the types of its arguments
    std::string_view noun;
    std::int64_t known = 0;       // a higher version was made by a newer pawl
    std::string_view table = {};  // one that statements write themselves where the user may
};

// A script or a statement for another schema than pawl, whose word it replaces.
std::string with_schema(std::string_view script, const std::string& schema);

// Looks at the layout and makes it if there is none, under a lock that lets one process of all do
// so. True when this user may write the plan's table, without the functions.
async<bool> ensure_layout(std::shared_ptr<wire> on, std::string schema, layout_plan plan);

}  // namespace pawl::postgresql
