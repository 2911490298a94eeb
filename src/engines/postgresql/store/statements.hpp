// The statements of the verbs: each calls the function of its name in the store's schema.
#pragma once

#include "engines/postgresql/client/statement.hpp"

#include <string>

namespace pawl::postgresql {

struct statements {
    explicit statements(const std::string& schema)
        : acquire{"SELECT * FROM " + schema + ".acquire_v1($1, $2, $3, $4, $5, $6, $7, $8, $9)"},
          withdraw{"SELECT " + schema + ".withdraw_v2($1, $2, $3, $4)"},
          renew{"SELECT * FROM " + schema + ".renew_v2($1, $2, $3, $4, $5, $6, $7)"},
          release{"SELECT " + schema + ".release_v1($1, $2, $3, $4, $5)"},
          force_release{"SELECT " + schema + ".evict_v1($1, $2, $3, $4)"},
          watch{"SELECT " + schema + ".watch_v1($1, $2, $3)"},
          list{"SELECT * FROM " + schema + ".list_v1($1, $2, $3, $4, $5)"},
          inspect{"SELECT * FROM " + schema + ".inspect_v1($1, $2)"},
          inspect_many{"SELECT seen.* FROM unnest($2::bytea[]) AS wanted (key), LATERAL " + schema +
                       ".inspect_v1($1, wanted.key) AS seen"},
          fence{"SELECT * FROM " + schema + ".fence_v2($1, $2, $3, $4, $5, $6)"},
          purge{"SELECT " + schema + ".purge_v1($1, $2, $3, $4)"} {}

    const statement_text acquire, withdraw, renew, release, force_release, watch, list, inspect,
        inspect_many, fence, purge;
};

}  // namespace pawl::postgresql
