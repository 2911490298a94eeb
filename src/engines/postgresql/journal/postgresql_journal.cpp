#include "engines/postgresql/journal/make_postgresql_journal.hpp"

#include "base/ensure.hpp"
#include "base/text.hpp"
#include "engines/postgresql/journal/postgresql_journal.hpp"
#include "schema_sql.hpp"

namespace pawl::postgresql {

postgresql_journal::postgresql_journal(net::loop& where, postgresql_settings settings)
    : settings_{std::make_shared<const postgresql_settings>(std::move(settings))},
      place_{place_of(settings_->servers)},
      space_{settings_->common.name_space},
      pool_{pool::make(where, settings_, journal_layout())},
      beats_{pool::make(where, one_connection(*settings_), journal_layout())},
      text_{std::make_shared<const journal_statements>(settings_->schema)} {}

const layout_plan& journal_layout() {
    static const layout_plan plan{embedded::schema_sql,  "postgresql-journal.sql", "journal_layout",
                                  "journal_layout_v8()", "journal layout",         1};
    return plan;
}

std::shared_ptr<journal> make_postgresql_journal(net::loop& where, postgresql_settings settings) {
    base::ensure(!base::name_space_fault(settings.common.name_space));
    return std::make_shared<postgresql_journal>(where, std::move(settings));
}

}  // namespace pawl::postgresql
