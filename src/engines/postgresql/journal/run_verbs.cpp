#include "engines/postgresql/journal/journal_rows.hpp"
#include "engines/postgresql/journal/postgresql_journal.hpp"
#include "engines/rules/journal/run_rules.hpp"
#include "engines/rules/journal/texts.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace pawl::postgresql {
namespace {

namespace rules = journals;

// Runs that one statement beats for: their rows are locked until it ends.
constexpr std::size_t heartbeat_batch_max = 4096;

// schema.sql says these numbers itself.
static_assert(run_events_max == 200 && attempts_max == 1000);

// What journal_begin_v1 and journal_skip_v1 answer beside the outcomes of a beginning.
constexpr std::int64_t id_taken = 4;
// What journal_attempt_v1 answers.
constexpr std::int64_t too_many_attempts = 2;

constexpr auto farthest = std::numeric_limits<std::int64_t>::max() / 2;

std::int64_t bounded(std::uint64_t value) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(value, farthest));
}

std::optional<std::int64_t> due_of(const run_start& start) {
    if (!start.occurrence) return std::nullopt;
    return number(*start.occurrence);
}

// What begin and skip are told about a run, but for the last.
void add_start(statement& to, const run_start& start) {
    to.add_bytes(start.id).add_bytes(start.job).add(std::int64_t{start.partition});
    to.add_bytes(start.key).add_bytes(start.owner).add_bytes(start.node);
    to.add(signed_number(start.token)).add_or_null(due_of(start));
    to.add_flag(start.delivery == delivery::at_least_once).add_bytes(start.trigger);
}

}  // namespace

// ---- Asking

statement postgresql_journal::call(const statement_text& text, const run_ref& who) const {
    auto made = call(text);
    made.add_bytes(who.id).add(signed_number(who.token));
    return made;
}

statement postgresql_journal::call(const statement_text& text, const run_ref& who,
                                   const run_end& how) const {
    auto made = call(text, who);
    made.add_text(name_of(how.status)).add_bytes(how.reason);
    made.add_or_null(how.exit_status ? std::optional<std::int64_t>{*how.exit_status}
                                     : std::nullopt);
    return made;
}

async<std::int64_t> postgresql_journal::ask_for_number(statement what) {
    auto asking = pool_->ask(std::move(what));
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->count() != 1 || got->columns() != 1) co_return unexpected("a function");
    co_return got->integer(0, 0);
}

async<std::size_t> postgresql_journal::ask_for_count(statement what) {
    auto asking = ask_for_number(std::move(what));
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    co_return static_cast<std::size_t>(*got);
}

async<void> postgresql_journal::ask_for_effect(statement what) {
    auto asking = ask_for_number(std::move(what));
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    co_return result<void>{};
}

async<bool> postgresql_journal::ask_for_flag(statement what) {
    auto asking = ask_for_number(std::move(what));
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    co_return *got != 0;
}

async<std::optional<run_record>> postgresql_journal::ask_for_run(statement what) {
    auto asking = ask_for(std::move(what), runs_in, "a look at a run");
    auto found = co_await std::move(asking);
    if (found.has_error()) co_return found.error();
    if (found->size() > 1) co_return unexpected("a look at a run");
    if (found->empty()) co_return std::optional<run_record>{};
    co_return std::optional<run_record>{std::move(found->front())};
}

// ---- Runs, by their runner

async<begin_result> postgresql_journal::begin(run_start start) {
    auto asked = call(text_->begin);
    add_start(asked, start);
    asked.add_flag(start.consumes_trigger)
        .add_flag(start.starts_from == checkpoint_source::last_saved);
    asked.add(std::int64_t{start.heartbeat_timeout.count()});
    auto asking = pool_->ask(std::move(asked));
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->count() != 1 || got->columns() != 6) co_return unexpected("journal_begin_v1");
    const auto outcome = got->integer(0, 0);
    if (outcome == id_taken) co_return placed(rules::id_taken(start.id));
    const auto status = run_status_named(got->bytes(0, 4));
    if (outcome < 0 || outcome > id_taken || !status) co_return unexpected("journal_begin_v1");
    begin_result told;
    told.outcome = static_cast<begin_outcome>(outcome);
    told.id = got->bytes(0, 1);
    told.attempt = static_cast<int>(got->integer(0, 2));
    told.checkpoint = got->bytes(0, 3);
    told.status = *status;
    told.output_size = static_cast<std::uint64_t>(got->integer(0, 5));
    co_return told;
}

async<std::vector<heartbeat_result>> postgresql_journal::heartbeat(std::span<const run_ref> runs) {
    std::vector<heartbeat_result> answers(runs.size(), heartbeat_result::stale);
    for (std::size_t from = 0; from < runs.size(); from += heartbeat_batch_max) {
        const auto batch = runs.subspan(from, std::min(runs.size() - from, heartbeat_batch_max));
        // One that is named twice is asked for once.
        std::map<std::pair<std::string_view, std::int64_t>, std::size_t> places;
        std::vector<std::string_view> ids;
        std::vector<std::int64_t> tokens;
        for (const auto& each : batch)
            if (places.try_emplace({each.id, signed_number(each.token)}, ids.size()).second) {
                ids.push_back(each.id);
                tokens.push_back(signed_number(each.token));
            }
        auto asked = call(text_->heartbeat);
        asked.add(ids).add(tokens);
        auto asking = pool_->is_free() ? pool_->ask(std::move(asked))
                                       : pool::ask_either(beats_, pool_, std::move(asked));
        const auto got = co_await std::move(asking);
        if (got.has_error()) co_return got.error();
        if (got->count() != 1 || got->columns() != 2) co_return unexpected("journal_heartbeat_v1");
        std::vector<heartbeat_result> told(ids.size(), heartbeat_result::stale);
        const auto mark = [&](int column, heartbeat_result answer) {
            for (const auto place : got->integers(0, column))
                if (place >= 1 && place <= static_cast<std::int64_t>(told.size()))
                    told[static_cast<std::size_t>(place) - 1] = answer;
        };
        mark(0, heartbeat_result::alive);
        mark(1, heartbeat_result::cancel_requested);
        for (std::size_t i = 0; i < batch.size(); ++i)
            answers[from + i] = told[places.at({batch[i].id, signed_number(batch[i].token)})];
    }
    co_return answers;
}

async<bool> postgresql_journal::checkpoint(run_ref who, std::string text) {
    auto asked = call(text_->checkpoint, who);
    asked.add_bytes(text);
    return ask_for_flag(std::move(asked));
}

async<bool> postgresql_journal::append_output(run_ref who, std::uint64_t offset, std::string bytes,
                                              std::uint64_t limit) {
    auto asked = call(text_->output, who);
    asked.add(bounded(offset)).add_bytes(bytes).add(bounded(limit));
    return ask_for_flag(std::move(asked));
}

async<bool> postgresql_journal::add_event(run_ref who, std::string kind, std::string text) {
    auto asked = call(text_->note, who);
    asked.add_bytes(kind).add_bytes(text);
    return ask_for_flag(std::move(asked));
}

async<bool> postgresql_journal::next_attempt(run_ref who, run_end last) {
    auto asked = call(text_->attempt, who);
    asked.add_count(last.attempt).add_bytes(last.reason);
    asked.add_or_null(last.exit_status ? std::optional<std::int64_t>{*last.exit_status}
                                       : std::nullopt);
    auto asking = ask_for_number(std::move(asked));
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (*got == too_many_attempts) co_return placed(rules::attempts_used_up(who.id));
    co_return *got == 1;
}

async<bool> postgresql_journal::finish(run_ref who, run_end how) {
    return ask_for_flag(call(text_->finish, who, how));
}

async<bool> postgresql_journal::skip(run_start what, std::string reason) {
    auto asked = call(text_->skip);
    add_start(asked, what);
    asked.add(std::int64_t{what.heartbeat_timeout.count()}).add_bytes(reason);
    auto asking = ask_for_number(std::move(asked));
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (*got == id_taken) co_return placed(rules::id_taken(what.id));
    co_return *got == 1;
}

// ---- Runs, by others

async<std::optional<run_record>> postgresql_journal::find_run(std::string id) {
    auto asked = call(text_->find);
    asked.add_bytes(id);
    return ask_for_run(std::move(asked));
}

async<std::optional<run_record>> postgresql_journal::find_occurrence(std::string job,
                                                                     std::uint32_t partition,
                                                                     pawl::occurrence occurrence) {
    auto asked = call(text_->occurrence);
    asked.add_bytes(job).add(std::int64_t{partition}).add(number(occurrence));
    return ask_for_run(std::move(asked));
}

async<run_page> postgresql_journal::list_runs(run_filter which, std::string after,
                                              std::size_t limit) {
    const auto before = rules::place_of(after).value();
    auto asked = call(text_->list);
    asked.add_bytes_or_null(which.job).add_bytes_or_null(which.node);
    asked.add_text(which.status ? name_of(*which.status) : "");
    // One more than asked for tells whether there is another page.
    asked.add(static_cast<std::int64_t>(before)).add_count(static_cast<std::int32_t>(limit + 1));
    auto asking = pool_->ask(std::move(asked));
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    auto found = runs_in(*got);
    if (!found) co_return unexpected("journal_list_v1");
    run_page page;
    page.records = std::move(*found);
    if (page.records.size() > limit) {
        page.records.resize(limit);
        page.next = rules::cursor_at(place_in(*got, static_cast<int>(limit) - 1));
    }
    co_return page;
}

async<std::vector<run_event>> postgresql_journal::history(std::string id) {
    auto asked = call(text_->history);
    asked.add_bytes(id);
    return ask_for(std::move(asked), events_in, "journal_history_v1");
}

async<std::optional<output_part>> postgresql_journal::read_output(std::string id,
                                                                  std::uint64_t offset,
                                                                  std::size_t bytes_max) {
    auto asked = call(text_->read_output);
    asked.add_bytes(id).add(bounded(offset)).add(bounded(bytes_max));
    auto asking = pool_->ask(std::move(asked));
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->count() == 0) co_return std::optional<output_part>{};
    auto part = output_in(*got, offset, bytes_max);
    if (!part) co_return unexpected("journal_read_output_v1");
    co_return part;
}

async<bool> postgresql_journal::request_cancel(std::string id, std::string by) {
    auto asked = call(text_->cancel);
    asked.add_bytes(id).add_bytes(by);
    return ask_for_flag(std::move(asked));
}

async<std::vector<run_record>> postgresql_journal::stale_runs(std::size_t limit, std::size_t skip) {
    auto asked = call(text_->stale);
    asked.add_count(static_cast<std::int32_t>(skip + limit));
    asked.add(static_cast<std::int64_t>(skip));
    return ask_for(std::move(asked), runs_in, "journal_stale_v1");
}

async<bool> postgresql_journal::end_stale(run_ref who, run_end how) {
    return ask_for_flag(call(text_->judge, who, how));
}

async<std::size_t> postgresql_journal::prune(std::string job, std::size_t keep, millis keep_for,
                                             std::size_t limit) {
    auto asked = call(text_->prune);
    asked.add_bytes(job).add(bounded(keep));
    asked.add(std::int64_t{keep_for.count()}).add(bounded(std::min(limit, page_limit_max)));
    return ask_for_count(std::move(asked));
}

}  // namespace pawl::postgresql
