// The statements of the verbs: each calls the function of its name in the store's schema, but for
// two that do without where the user may write the table.
#pragma once

#include "engines/postgresql/client/statement.hpp"

#include <string>

namespace pawl::postgresql {

struct statements {
    explicit statements(const std::string& schema);

    const statement_text acquire_known, release_held;
    const statement_text acquire, withdraw, renew, release, force_release, watch, list, inspect,
        inspect_many, fence, purge;
};

}  // namespace pawl::postgresql
