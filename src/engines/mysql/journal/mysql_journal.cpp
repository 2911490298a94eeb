#include "engines/mysql/journal/make_mysql_journal.hpp"

#include "base/ensure.hpp"
#include "base/text.hpp"
#include "engines/mysql/journal/mysql_journal.hpp"

namespace pawl::mysql {

mysql_journal::mysql_journal(net::loop& where, mysql_settings settings)
    : settings_{std::make_shared<const mysql_settings>(std::move(settings))},
      place_{place_of(*settings_)},
      space_{literal(settings_->common.name_space)},
      pool_{pool::make(where, settings_, journal_tables())} {}

async<response> mysql_journal::ask(std::string text, std::size_t answers, std::string_view what,
                                   when_locked locked) {
    auto asking = pool_->ask(std::move(text), locked);
    auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (!got->locked && got->answers.size() != answers) co_return unexpected(what);
    co_return std::move(*got);
}

std::shared_ptr<journal> make_mysql_journal(net::loop& where, mysql_settings settings) {
    base::ensure(!base::name_space_fault(settings.common.name_space));
    return std::make_shared<mysql_journal>(where, std::move(settings));
}

}  // namespace pawl::mysql
