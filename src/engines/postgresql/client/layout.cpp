#include "engines/postgresql/client/layout.hpp"

#include "base/ascii.hpp"
#include "base/number.hpp"
#include "engines/postgresql/client/error_mapping.hpp"

namespace pawl::postgresql {
namespace {

constexpr std::string_view schema_word = "pawl";

bool is_word_letter(char letter) { return base::is_alphanumeric(letter) || letter == '_'; }

failure explain(const wire& on, const reply& got) {
    return explain_error(on.place(), got.sqlstate, got.message);
}

// Text format: the simple protocol has no other.
std::int64_t number_in(const reply& got, int column) {
    if (got.got.count() != 1 || got.got.columns() <= column) return 0;
    return base::leading_number<std::int64_t>(got.got.bytes(0, column)).value_or(0);
}

result<void> judge(const wire& on, const std::string& schema, const layout_plan& plan,
                   std::int64_t layout) {
    if (layout == plan.known) return {};
    const auto noun = std::string{plan.noun};
    if (layout > plan.known)
        return failure{errc::unsupported,
                       on.place() + ": the schema " + schema + " has " + noun + " " +
                           std::to_string(layout) + ", and this pawl knows " +
                           std::to_string(plan.known) + " at most: use a newer pawl"};
    return failure{errc::unsupported, on.place() + ": the schema " + schema + " holds no " + noun +
                                          " of pawl: choose another with schema="};
}

// Whether what lies there has all that this pawl calls.
std::string has_newest(const std::string& schema, const layout_plan& plan) {
    return "(to_regprocedure('" + schema + "." + std::string{plan.newest} +
           "') IS NOT NULL)::integer";
}

std::string may_write(const std::string& schema, const layout_plan& plan) {
    if (plan.table.empty()) return "0";
    const auto table = "to_regclass('" + schema + "." + std::string{plan.table} + "')";
    return "coalesce(has_table_privilege(" + table + ", 'SELECT') AND has_table_privilege(" +
           table + ", 'UPDATE'), false)::integer";
}

async<void> install(std::shared_ptr<wire> on, std::string schema, layout_plan plan) {
    // Explicit, because the default of the database may be another.
    auto begin = wire::query(on,
                             "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT "
                             "pg_advisory_xact_lock(1885435756, hashtext('" +
                                 schema + "'))");
    const auto locked = co_await std::move(begin);
    if (locked.has_error()) co_return locked.error();
    if (!locked->sqlstate.empty()) {
        auto undo = wire::query(on, "ROLLBACK");
        static_cast<void>(co_await std::move(undo));
        co_return explain(*on, *locked);
    }
    auto looking = wire::query(on, "SELECT " + has_newest(schema, plan));
    const auto asked = co_await std::move(looking);
    if (asked.has_error()) co_return asked.error();
    auto made = asked;
    if (asked->sqlstate.empty() && number_in(*asked, 0) == 0) {
        auto making = wire::query(on, with_schema(plan.script, schema));
        made = co_await std::move(making);
        if (made.has_error()) co_return made.error();
    }
    if (made->sqlstate.empty()) {
        auto ending = wire::query(on, "COMMIT");
        made = co_await std::move(ending);
        if (made.has_error()) co_return made.error();
    } else {
        auto undo = wire::query(on, "ROLLBACK");
        static_cast<void>(co_await std::move(undo));
    }
    if (made->sqlstate.empty()) co_return result<void>{};
    auto why = explain(*on, *made);
    if (why.code == errc::denied)
        why = failure{errc::denied,
                      on->place() + ": there is no schema " + schema + " with the " +
                          std::string{plan.noun} +
                          " of this pawl yet, and this user may not make it: " + made->message +
                          " (an administrator runs " + std::string{plan.installed} +
                          " once, see docs/stores/postgresql.md)"};
    co_return why;
}

}  // namespace

std::string with_schema(std::string_view rest, const std::string& schema) {
    std::string script;
    while (!rest.empty()) {
        const auto at = rest.find(schema_word);
        if (at == std::string_view::npos) break;
        const auto end = at + schema_word.size();
        const bool whole = (at == 0 || !is_word_letter(rest[at - 1])) &&
                           (end == rest.size() || !is_word_letter(rest[end]));
        script.append(rest.substr(0, at)).append(whole ? std::string_view{schema} : schema_word);
        rest.remove_prefix(end);
    }
    return script.append(rest);
}

async<bool> ensure_layout(std::shared_ptr<wire> on, std::string schema, layout_plan plan) {
    const auto question = "SELECT " + schema + "." + std::string{plan.function} + "(), " +
                          has_newest(schema, plan) + ", " + may_write(schema, plan);
    auto looking = wire::query(on, question);
    auto asked = co_await std::move(looking);
    if (asked.has_error()) co_return asked.error();
    const bool is_older =
        asked->sqlstate.empty() && number_in(*asked, 0) <= plan.known && number_in(*asked, 1) == 0;
    if (misses_schema(asked->sqlstate) || is_older) {
        auto making = install(on, schema, plan);
        const auto made = co_await std::move(making);
        if (made.has_error()) co_return made.error();
        auto again = wire::query(on, question);
        asked = co_await std::move(again);
        if (asked.has_error()) co_return asked.error();
    }
    if (!asked->sqlstate.empty()) co_return explain(*on, *asked);
    const auto fits = judge(*on, schema, plan, number_in(*asked, 0));
    if (fits.has_error()) co_return fits.error();
    co_return number_in(*asked, 2) == 1;
}

}  // namespace pawl::postgresql
