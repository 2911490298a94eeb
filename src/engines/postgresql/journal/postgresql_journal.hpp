// The verbs of a journal on PostgreSQL; run_verbs.cpp and control_verbs.cpp hold their bodies.
#pragma once

#include "engines/postgresql/client/pool.hpp"
#include "engines/postgresql/journal/journal_statements.hpp"

#include <pawl/spi/journal.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::postgresql {

// Used on its loop only, but for its destructor.
class postgresql_journal : public journal {
public:
    postgresql_journal(net::loop& where, postgresql_settings settings);
    ~postgresql_journal() override {
        pool_->close_from_anywhere();
        beats_->close_from_anywhere();
    }

#include "engines/rules/journal/verbs.inc"

private:
    statement call(const statement_text& text) const {
        statement made{std::shared_ptr<const statement_text>{text_, &text}};
        made.add_text(space_);
        return made;
    }
    statement call(const statement_text& text, const run_ref& who) const;
    statement call(const statement_text& text, const run_ref& who, const run_end& how) const;
    // What `read` makes of the rows that the function of this name answers.
    template <class T>
    async<T> ask_for(statement what, std::optional<T> (*read)(const rows&), std::string_view name) {
        auto asking = pool_->ask(std::move(what));
        const auto got = co_await std::move(asking);
        if (got.has_error()) co_return got.error();
        auto found = read(*got);
        if (!found) co_return unexpected(name);
        co_return std::move(*found);
    }
    async<std::int64_t> ask_for_number(statement what);
    async<std::size_t> ask_for_count(statement what);
    async<void> ask_for_effect(statement what);
    async<bool> ask_for_flag(statement what);
    async<std::optional<run_record>> ask_for_run(statement what);
    async<std::optional<audit_entry>> try_audit(const audit_draft& what);

    failure unexpected(std::string_view what) const {
        return {errc::protocol, place_ + ": an unexpected answer to " + std::string{what}};
    }
    // A failure that the rules found, at its place.
    failure placed(failure why) const {
        why.detail = place_ + ": " + why.detail;
        return why;
    }

    // Constant after construction
    const std::shared_ptr<const postgresql_settings> settings_;
    const std::string place_, space_;
    const std::shared_ptr<pool> pool_;
    // For heartbeats while the other is busy: a verb that waits for a row holds up what was sent
    // behind it.
    const std::shared_ptr<pool> beats_;
    const std::shared_ptr<const journal_statements> text_;
};

}  // namespace pawl::postgresql
