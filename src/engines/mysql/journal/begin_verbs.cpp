#include "engines/mysql/journal/mysql_journal.hpp"
#include "engines/rules/journal/sql_rows.hpp"

#include <utility>

namespace pawl::mysql {
namespace {

namespace rules = journals;

// How often a row may change between a look at it and the decision about it.
constexpr int looks_max = 16;

}  // namespace

// ---- Texts

std::string mysql_journal::saved_text(const run_start& start) const {
    return journal_statements::all().last_saved.with({{"space", space_},
                                                      {"job", literal(start.job)},
                                                      {"part", std::to_string(start.partition)}});
}

std::string mysql_journal::occurrence_text(const std::string& job, std::uint32_t partition,
                                           pawl::occurrence occurrence) const {
    return journal_statements::all().of_occurrence.with(
        {{"job", literal(job)},
         {"part", std::to_string(partition)},
         {"due", std::to_string(number(occurrence))}});
}

std::string mysql_journal::start_text(const statement& file, const run_start& start,
                                      const std::string& reason) const {
    const auto id = literal(start.id), job = literal(start.job);
    const bool inherits = start.starts_from == checkpoint_source::last_saved;
    const auto& all = journal_statements::all();
    const auto told =
        inherits ? all.told.with({{"space", space_}, {"id", id}}) + ";" : std::string{};
    const auto event = event_text(all.of_written.with({{"space", space_}, {"id", id}}),
                                  name_of(run_status::skipped), reason, "r.completed_at");
    return file.with(
        {{"space", space_},
         {"id", id},
         {"job", job},
         {"part", std::to_string(start.partition)},
         {"due", start.occurrence ? std::to_string(number(*start.occurrence)) : "NULL"},
         {"key", literal(start.key)},
         {"owner", literal(start.owner)},
         {"node", literal(start.node)},
         {"token", text_of(start.token)},
         {"again", start.delivery == delivery::at_least_once ? "1" : "0"},
         {"by", literal(start.trigger)},
         {"silence", std::to_string(start.heartbeat_timeout.count())},
         {"checkpoint", inherits ? saved_text(start) : "''"},
         {"told", told},
         {"why", literal(reason)},
         {"event", event}});
}

// ---- A run begins

async<begin_result> mysql_journal::begin(run_start start) {
    bool trigger_waited = false;
    for (int i = 0; i < looks_max; ++i) {
        auto told = co_await begin_once(start, trigger_waited);
        if (told.has_error()) co_return told.error();
        if (!*told) told = co_await rejoin(start, trigger_waited);
        if (told.has_error()) co_return told.error();
        if (*told) co_return std::move(**told);
    }
    co_return failure{errc::unreachable, place_ + ": others write about this run all the time"};
}

async<std::optional<begin_result>> mysql_journal::begin_once(const run_start& start,
                                                             bool& trigger_waited) {
    const auto& all = journal_statements::all();
    // A trigger that was consumed in a round before need not wait any more.
    const bool looks = start.consumes_trigger && !trigger_waited;
    const bool inherits = start.starts_from == checkpoint_source::last_saved;
    auto text = start_text(looks ? all.begin_triggered : all.begin, start, {});
    const std::size_t inserted = looks ? 2 : 1;
    const std::size_t told = inserted + 2;
    auto got = co_await ask(std::move(text), told + (inherits ? 2 : 1), "a beginning");
    if (got.has_error()) co_return got.error();
    if (looks && got->answers[1].affected == 1) trigger_waited = true;
    if (got->answers[inserted].affected != 1) co_return std::optional<begin_result>{};
    begin_result begun;
    begun.id = start.id;
    if (inherits && got->answers[told].next()) begun.checkpoint = got->answers[told].text(0);
    co_return std::optional<begin_result>{std::move(begun)};
}

async<std::optional<begin_result>> mysql_journal::rejoin(const run_start& start,
                                                         bool trigger_waits) {
    const auto id = literal(start.id);
    const auto which = start.occurrence
                           ? occurrence_text(start.job, start.partition, *start.occurrence)
                           : journal_statements::all().of_id.with({{"id", id}});
    auto text = journal_statements::all().known.with(
        {{"run", run_columns()}, {"space", space_}, {"which", which}, {"id", id}});
    auto got = co_await ask(std::move(text), 3, "a look at a run");
    if (got.has_error()) co_return got.error();
    if (!got->answers[0].next() || !got->answers[2].next()) co_return unexpected("a look at a run");
    std::optional<rules::run_row> seen;
    auto& row = got->answers[1];
    if (row.next()) {
        auto run = rules::run_at(row, 0);
        if (!run) co_return unexpected("a look at a run");
        seen = rules::row_of(row, 0, std::move(*run));
    }
    if (!seen && got->answers[2].integer(0) > 0) co_return placed(rules::id_taken(start.id));
    const auto decided = rules::begin(seen, start, trigger_waits, {}, got->answers[0].integer(0));
    if (decided.has_error()) co_return placed(decided.error());
    if (decided->write == rules::begin_write::nothing)
        co_return std::optional<begin_result>{decided->answer};
    // The row that was in the way is gone.
    if (decided->write == rules::begin_write::insert) co_return std::optional<begin_result>{};
    const std::string run_number{row.text(0)};
    if (decided->answer.outcome == begin_outcome::already_run)
        co_return co_await call_off(run_number, *seen, *decided);
    co_return co_await take(start, run_number, *seen, *decided);
}

async<std::optional<begin_result>> mysql_journal::take(const run_start& start,
                                                       const std::string& run_number,
                                                       const rules::run_row& seen,
                                                       const rules::begin_decision& decided) {
    const bool first = decided.answer.outcome == begin_outcome::begun;
    const bool inherits = first && start.starts_from == checkpoint_source::last_saved;
    const auto& all = journal_statements::all();
    const auto event = event_text(all.of_taken.with({{"number", run_number}}), decided.event->kind,
                                  decided.event->text, "r.last_heartbeat");
    const auto& mine = decided.row.record;
    auto text =
        all.take.with({{"number", run_number},
                       {"seen_token", text_of(seen.record.token)},
                       {"seen_status", "'" + std::string{name_of(seen.record.status)} + "'"},
                       {"seen_attempt", std::to_string(seen.record.attempt)},
                       {"key", literal(mine.key)},
                       {"owner", literal(mine.owner)},
                       {"node", literal(mine.node)},
                       {"token", text_of(mine.token)},
                       {"again", mine.delivery == delivery::at_least_once ? "1" : "0"},
                       {"by", literal(mine.trigger)},
                       {"first", first ? "1" : "0"},
                       {"silence", std::to_string(decided.row.heartbeat_timeout.count())},
                       {"attempt", std::to_string(mine.attempt)},
                       {"taken_over", decided.row.taken_over ? "1" : "0"},
                       {"checkpoint", inherits ? saved_text(start) : "checkpoint"},
                       {"event", event},
                       {"trim", trim_text(run_number)},
                       {"run", run_columns()}});
    auto got = co_await ask(std::move(text), 6, "a beginning");
    if (got.has_error()) co_return got.error();
    if (got->answers[1].affected != 1) co_return std::optional<begin_result>{};
    auto& row = got->answers[4];
    std::optional<run_record> now;
    if (row.next()) now = rules::run_at(row, 0);
    if (!now) co_return unexpected("a beginning");
    begin_result told;
    told.outcome = decided.answer.outcome;
    told.id = std::move(now->id);
    told.attempt = now->attempt;
    told.checkpoint = std::move(now->checkpoint);
    told.status = now->status;
    told.output_size = now->output_size;
    co_return std::optional<begin_result>{std::move(told)};
}

async<std::optional<begin_result>> mysql_journal::call_off(const std::string& run_number,
                                                           const rules::run_row& seen,
                                                           const rules::begin_decision& decided) {
    const auto& all = journal_statements::all();
    const auto event = event_text(all.of_taken.with({{"number", run_number}}), decided.event->kind,
                                  decided.event->text, "r.completed_at");
    auto text =
        all.call_off.with({{"number", run_number},
                           {"seen_token", text_of(seen.record.token)},
                           {"seen_status", "'" + std::string{name_of(seen.record.status)} + "'"},
                           {"why", literal(decided.row.record.reason)},
                           {"event", event}});
    const auto got = co_await ask(std::move(text), 4, "a beginning");
    if (got.has_error()) co_return got.error();
    if (got->answers[1].affected != 1) co_return std::optional<begin_result>{};
    co_return std::optional<begin_result>{decided.answer};
}

// ---- An occurrence that does not run

async<bool> mysql_journal::skip(run_start what, std::string reason) {
    for (int i = 0; i < looks_max; ++i) {
        const auto told = co_await skip_once(what, reason);
        if (told.has_error()) co_return told.error();
        if (*told) co_return **told;
    }
    co_return failure{errc::unreachable,
                      place_ + ": others write about this occurrence all the time"};
}

async<std::optional<bool>> mysql_journal::skip_once(const run_start& what,
                                                    const std::string& reason) {
    const auto& all = journal_statements::all();
    auto text = start_text(all.skip, what, reason);
    const auto got = co_await ask(std::move(text), 4, "a skipped occurrence");
    if (got.has_error()) co_return got.error();
    if (got->answers[1].affected == 1) co_return std::optional{true};
    const auto which = occurrence_text(what.job, what.partition, *what.occurrence);
    auto looking = all.known.with(
        {{"run", run_columns()}, {"space", space_}, {"which", which}, {"id", literal(what.id)}});
    auto known = co_await ask(std::move(looking), 3, "a look at a run");
    if (known.has_error()) co_return known.error();
    auto& row = known->answers[1];
    if (row.next()) {
        const auto there = rules::run_at(row, 0);
        if (!there) co_return unexpected("a look at a run");
        co_return std::optional{there->id == what.id && there->status == run_status::skipped};
    }
    if (known->answers[2].next() && known->answers[2].integer(0) > 0)
        co_return placed(rules::id_taken(what.id));
    co_return std::optional<bool>{};
}

}  // namespace pawl::mysql
