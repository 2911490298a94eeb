#include "engines/postgresql/store/statements.hpp"

#include "engines/postgresql/client/layout.hpp"

#include "acquire_known_sql.hpp"
#include "release_held_sql.hpp"

namespace pawl::postgresql {

statements::statements(const std::string& schema)
    : acquire_known{with_schema(embedded::acquire_known_sql, schema)},
      release_held{with_schema(embedded::release_held_sql, schema)},
      // Its columns in one: FROM would put the row into a tuple store first.
      acquire{"SELECT " + schema + ".acquire_v1($1, $2, $3, $4, $5, $6, $7, $8, $9)"},
      withdraw{"SELECT " + schema + ".withdraw_v4($1, $2, $3, $4)"},
      renew{"SELECT * FROM " + schema + ".renew_v2($1, $2, $3, $4, $5, $6, $7)"},
      release{"SELECT " + schema + ".release_v1($1, $2, $3, $4, $5)"},
      force_release{"SELECT " + schema + ".evict_v1($1, $2, $3, $4)"},
      watch{"SELECT " + schema + ".watch_v1($1, $2, $3)"},
      list{"SELECT * FROM " + schema + ".list_v1($1, $2, $3, $4, $5)"},
      inspect{"SELECT * FROM " + schema + ".inspect_v1($1, $2)"},
      inspect_many{"SELECT seen.* FROM unnest($2::bytea[]) AS wanted (key), LATERAL " + schema +
                   ".inspect_v1($1, wanted.key) AS seen"},
      fence{"SELECT * FROM " + schema + ".bounded_fence_v1($1, $2, $3, $4, $5, $6)"},
      purge{"SELECT " + schema + ".purge_v1($1, $2, $3, $4)"} {}

}  // namespace pawl::postgresql
