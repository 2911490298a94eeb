#include "engines/mysql/client/skip_locked.hpp"
#include "engines/mysql/journal/mysql_journal.hpp"
#include "engines/rules/journal/run_rules.hpp"
#include "engines/rules/journal/sql_rows.hpp"
#include "engines/rules/journal/texts.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>

namespace pawl::mysql {
namespace {

namespace rules = journals;

// Runs that one text beats for: their rows are locked until it has been executed.
constexpr std::size_t heartbeat_batch_max = 1024;
// Pieces of output that are read at once.
constexpr std::size_t pieces_max = 64;
// How many of the oldest runs are looked at for those that may go.
constexpr std::size_t prune_window = 1000;

// statements.sql says these numbers itself.
static_assert(run_events_max == 200 && attempts_max == 1000);

constexpr std::uint64_t farthest = std::numeric_limits<std::int64_t>::max() / 2;

std::string bounded(std::uint64_t value) { return std::to_string(std::min(value, farthest)); }

std::string quoted(run_status status) { return "'" + std::string{name_of(status)} + "'"; }

std::string text_of(const std::optional<int>& code) {
    return code ? std::to_string(*code) : "NULL";
}

struct run_names {
    std::string ids, pairs;
};

run_names names_of(std::span<const run_ref> runs, std::span<const std::size_t> which) {
    run_names names;
    for (const auto i : which) {
        const auto id = literal(runs[i].id);
        names.ids += (names.ids.empty() ? "" : ",") + id;
        names.pairs +=
            (names.pairs.empty() ? "(" : ",(") + id + "," + mysql::text_of(runs[i].token) + ")";
    }
    return names;
}

// Of the runs that have no row, nothing is said.
void read_beats(answer& row, std::span<const run_ref> runs, std::span<const std::size_t> which,
                std::vector<heartbeat_result>& answers) {
    std::map<std::string, std::pair<fence_token, heartbeat_result>, std::less<>> alive;
    while (row.next())
        alive[std::string{row.text(0)}] = {
            fence_token{static_cast<std::uint64_t>(row.integer(1))},
            row.integer(2) != 0 ? heartbeat_result::cancel_requested : heartbeat_result::alive};
    for (const auto i : which) {
        const auto found = alive.find(runs[i].id);
        if (found != alive.end() && found->second.first == runs[i].token)
            answers[i] = found->second.second;
    }
}

std::string its_run() { return journal_statements::all().of_locked.with({}); }

}  // namespace

// ---- Runs, by their runner

// A run whose row another session keeps locked is as it was last committed: no node can take it
// over meanwhile, and the other runs need not go stale because of it.
async<std::vector<heartbeat_result>> mysql_journal::heartbeat(std::span<const run_ref> runs) {
    std::vector<heartbeat_result> answers(runs.size(), heartbeat_result::stale);
    places all(runs.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    failure given_up{errc::outcome_unknown, place_ + ": cancelled by the caller"};
    auto beating = change_skipping_locked(
        {std::move(all)}, heartbeat_batch_max, settings_->common.timeout, std::move(given_up),
        [&](std::span<const std::size_t> part) { return beat_for(runs, part, answers); });
    const auto locked = co_await std::move(beating);
    if (locked.has_error()) co_return locked.error();
    for (std::size_t from = 0; from < locked->size(); from += heartbeat_batch_max) {
        const auto many = std::min(locked->size() - from, heartbeat_batch_max);
        auto looking = look_at(runs, std::span{*locked}.subspan(from, many), answers);
        const auto looked = co_await std::move(looking);
        if (looked.has_error()) co_return looked.error();
    }
    co_return answers;
}

async<bool> mysql_journal::beat_for(std::span<const run_ref> runs,
                                    std::span<const std::size_t> which,
                                    std::vector<heartbeat_result>& answers) {
    const auto names = names_of(runs, which);
    const auto& all = journal_statements::all();
    const auto alive =
        all.alive.with({{"space", space_}, {"ids", names.ids}, {"pairs", names.pairs}});
    auto text = all.heartbeat.with(
        {{"space", space_}, {"ids", names.ids}, {"pairs", names.pairs}, {"alive", alive}});
    auto asking = ask(std::move(text), 5, "a heartbeat", when_locked::tell);
    auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->locked) co_return false;
    read_beats(got->answers[3], runs, which, answers);
    co_return true;
}

async<void> mysql_journal::look_at(std::span<const run_ref> runs,
                                   std::span<const std::size_t> which,
                                   std::vector<heartbeat_result>& answers) {
    const auto names = names_of(runs, which);
    auto text = journal_statements::all().alive.with(
        {{"space", space_}, {"ids", names.ids}, {"pairs", names.pairs}});
    auto asking = ask(std::move(text), 1, "a look at runs");
    auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    read_beats(got->answers[0], runs, which, answers);
    co_return result<void>{};
}

async<bool> mysql_journal::checkpoint(run_ref who, std::string text) {
    const auto said = std::to_string(text.size()) + " bytes";
    auto sql = journal_statements::all().checkpoint.with(
        {{"space", space_},
         {"id", literal(who.id)},
         {"token", mysql::text_of(who.token)},
         {"text", literal(text)},
         {"event", event_text(its_run(), "checkpoint", said)},
         {"trim", trim_text("@pawl_run")}});
    auto got = co_await ask(std::move(sql), 10, "a checkpoint");
    if (got.has_error()) co_return got.error();
    auto& row = got->answers[8];
    co_return row.next() && row.integer(0) == 1;
}

async<bool> mysql_journal::append_output(run_ref who, std::uint64_t offset, std::string bytes,
                                         std::uint64_t limit) {
    const auto end = offset + bytes.size();
    auto text = journal_statements::all().output.with(
        {{"space", space_},
         {"id", literal(who.id)},
         {"token", mysql::text_of(who.token)},
         {"offset", bounded(offset)},
         {"length", std::to_string(bytes.size())},
         {"end", bounded(end)},
         {"bytes", literal(bytes)},
         {"floor", end > limit ? bounded(end - limit) : "0"}});
    auto got = co_await ask(std::move(text), 9, "output");
    if (got.has_error()) co_return got.error();
    auto& row = got->answers[7];
    co_return row.next() && row.integer(0) == 1;
}

async<bool> mysql_journal::add_event(run_ref who, std::string kind, std::string text) {
    const auto event = event_text(its_run(), kind, text);
    auto sql = journal_statements::all().note.with({{"space", space_},
                                                    {"id", literal(who.id)},
                                                    {"token", mysql::text_of(who.token)},
                                                    {"event", event},
                                                    {"trim", trim_text("@pawl_run")}});
    auto got = co_await ask(std::move(sql), 7, "a note");
    if (got.has_error()) co_return got.error();
    auto& row = got->answers[5];
    co_return row.next() && row.integer(0) == 1;
}

async<bool> mysql_journal::next_attempt(run_ref who, run_end last) {
    auto text = journal_statements::all().attempt.with(
        {{"space", space_},
         {"id", literal(who.id)},
         {"token", mysql::text_of(who.token)},
         {"ended", std::to_string(last.attempt)},
         {"why", literal(last.reason)},
         {"code", text_of(last.exit_status)},
         {"event", event_text(its_run(), "attempt", last.reason)},
         {"trim", trim_text("@pawl_run")}});
    auto got = co_await ask(std::move(text), 9, "an attempt");
    if (got.has_error()) co_return got.error();
    auto& row = got->answers[7];
    if (!row.next()) co_return unexpected("an attempt");
    if (row.integer(0) == 0) co_return false;
    const bool is_finished = last.attempt != 0 && last.attempt < row.integer(1);
    if (!is_finished && row.integer(1) >= attempts_max)
        co_return placed(rules::attempts_used_up(who.id));
    co_return true;
}

// `only_if` and `ended_so` are further conditions on the row, before and after.
async<bool> mysql_journal::end_run(run_ref who, run_end how, std::string only_if,
                                   std::string ended_so) {
    const auto& all = journal_statements::all();
    const auto id = literal(who.id), token = mysql::text_of(who.token), end = quoted(how.status);
    const auto event =
        all.event.with({{"which", all.of_written.with({{"space", space_}, {"id", id}})},
                        {"at", "COALESCE(r.completed_at, UTC_TIMESTAMP(3))"},
                        {"kind", "r.status"},
                        {"said", literal(how.reason)}});
    auto text = all.finish.with({{"space", space_},
                                 {"id", id},
                                 {"token", token},
                                 {"how", end},
                                 {"why", literal(how.reason)},
                                 {"code", text_of(how.exit_status)},
                                 {"and", only_if},
                                 {"event", event}});
    const auto got = co_await ask(std::move(text), 4, "the end of a run");
    if (got.has_error()) co_return got.error();
    if (got->answers[1].affected == 1) co_return true;
    auto looking = all.ended.with(
        {{"space", space_}, {"id", id}, {"token", token}, {"how", end}, {"and", ended_so}});
    auto known = co_await ask(std::move(looking), 1, "a look at a run");
    if (known.has_error()) co_return known.error();
    auto& row = known->answers[0];
    co_return row.next() && row.integer(0) > 0;
}

async<bool> mysql_journal::finish(run_ref who, run_end how) {
    return end_run(std::move(who), std::move(how), {}, {});
}

async<bool> mysql_journal::end_stale(run_ref who, run_end how) {
    const auto& all = journal_statements::all();
    auto for_the_same = all.and_reason.with({{"why", literal(how.reason)}});
    return end_run(std::move(who), std::move(how), all.and_silent.with({}),
                   std::move(for_the_same));
}

// ---- Runs, by others

async<std::optional<run_record>> mysql_journal::ask_for_run(std::string which) {
    auto text = journal_statements::all().find.with(
        {{"run", run_columns()}, {"space", space_}, {"which", which}});
    auto got = co_await ask(std::move(text), 1, "a look at a run");
    if (got.has_error()) co_return got.error();
    auto found = rules::runs_in(got->answers[0]);
    if (!found || found->size() > 1) co_return unexpected("a look at a run");
    if (found->empty()) co_return std::optional<run_record>{};
    co_return std::optional<run_record>{std::move(found->front())};
}

async<std::optional<run_record>> mysql_journal::find_run(std::string id) {
    auto which = journal_statements::all().of_id.with({{"id", literal(id)}});
    return ask_for_run(std::move(which));
}

async<std::optional<run_record>> mysql_journal::find_occurrence(std::string job,
                                                                std::uint32_t partition,
                                                                pawl::occurrence occurrence) {
    auto which = occurrence_text(job, partition, occurrence);
    return ask_for_run(std::move(which));
}

async<run_page> mysql_journal::list_runs(run_filter which, std::string after, std::size_t limit) {
    const auto before = rules::place_of(after).value();
    // One filter chooses the index, and the others are looked at in its order. Few go on.
    const bool goes_on = which.status && !is_finished(*which.status);
    const auto& all = journal_statements::all();
    std::string conditions;
    if (which.job) conditions += all.and_job.with({{"job", literal(*which.job)}}) + " ";
    if (which.node) conditions += all.and_node.with({{"node", literal(*which.node)}}) + " ";
    if (which.status) conditions += all.and_status.with({{"status", quoted(*which.status)}});
    const auto* index = goes_on        ? "by_status"
                        : which.job    ? "by_job"
                        : which.node   ? "by_node"
                        : which.status ? "by_status"
                                       : "newest";
    // One more than asked for tells whether there is another page.
    auto text = all.list.with({{"run", run_columns()},
                               {"index", index},
                               {"space", space_},
                               {"which", conditions},
                               {"before", std::to_string(before)},
                               {"limit", std::to_string(limit + 1)}});
    auto got = co_await ask(std::move(text), 1, "a list of runs");
    if (got.has_error()) co_return got.error();
    run_page page;
    std::uint64_t last = 0;
    auto& row = got->answers[0];
    while (row.next()) {
        if (page.records.size() == limit) {
            page.next = rules::cursor_at(last);
            break;
        }
        auto one = rules::run_at(row, 0);
        if (!one) co_return unexpected("a list of runs");
        last = static_cast<std::uint64_t>(row.integer(0));
        page.records.push_back(std::move(*one));
    }
    co_return page;
}

async<std::vector<run_event>> mysql_journal::history(std::string id) {
    auto text = journal_statements::all().history.with({{"space", space_}, {"id", literal(id)}});
    auto got = co_await ask(std::move(text), 1, "a history");
    if (got.has_error()) co_return got.error();
    auto all = rules::all_of(got->answers[0], rules::event_at<answer>);
    // The verbs that write one of its last events do not look for old ones.
    if (all.size() > run_events_max)
        all.erase(all.begin() + 1,
                  all.begin() + 1 + static_cast<std::ptrdiff_t>(all.size() - run_events_max));
    co_return all;
}

async<std::optional<output_part>> mysql_journal::read_output(std::string id, std::uint64_t offset,
                                                             std::size_t bytes_max) {
    auto text = journal_statements::all().read_output.with({{"space", space_},
                                                            {"id", literal(id)},
                                                            {"offset", bounded(offset)},
                                                            {"limit", std::to_string(pieces_max)}});
    auto got = co_await ask(std::move(text), 1, "output");
    if (got.has_error()) co_return got.error();
    co_return rules::output_in(got->answers[0], offset, bytes_max);
}

async<bool> mysql_journal::request_cancel(std::string id, std::string by) {
    const auto& all = journal_statements::all();
    const auto name = literal(id);
    const auto event =
        event_text(all.of_written.with({{"space", space_}, {"id", name}}), "cancel_requested", by);
    auto text = all.cancel.with({{"space", space_},
                                 {"id", name},
                                 {"why", literal(rules::cancel_reason(by))},
                                 {"event", event}});
    auto got = co_await ask(std::move(text), 5, "a request to cancel");
    if (got.has_error()) co_return got.error();
    auto& row = got->answers[3];
    co_return row.next() && row.integer(0) > 0;
}

async<std::vector<run_record>> mysql_journal::stale_runs(std::size_t limit, std::size_t skip) {
    auto text = journal_statements::all().stale.with({{"run", run_columns()},
                                                      {"space", space_},
                                                      {"limit", std::to_string(limit)},
                                                      {"skip", std::to_string(skip)}});
    auto got = co_await ask(std::move(text), 1, "a look at stale runs");
    if (got.has_error()) co_return got.error();
    auto found = rules::runs_in(got->answers[0]);
    if (!found) co_return unexpected("a look at stale runs");
    co_return std::move(*found);
}

async<std::size_t> mysql_journal::prune(std::string job, std::size_t keep, millis keep_for,
                                        std::size_t limit) {
    const auto& all = journal_statements::all();
    limit = std::min(limit, page_limit_max);
    const auto aged = keep_for.count() <= 0
                          ? std::string{"FALSE"}
                          : all.aged.with({{"ms", std::to_string(keep_for.count())}});
    auto text = all.prunable.with({{"space", space_},
                                   {"job", literal(job)},
                                   {"keep", bounded(keep)},
                                   {"aged", aged},
                                   {"limit", std::to_string(limit)},
                                   {"window", std::to_string(limit + prune_window)}});
    auto got = co_await ask(std::move(text), 1, "a look at old runs");
    if (got.has_error()) co_return got.error();
    std::string numbers;
    auto& row = got->answers[0];
    while (row.next()) numbers.append(numbers.empty() ? "" : ",").append(row.text(0));
    if (numbers.empty()) co_return std::size_t{0};
    auto removing = all.prune.with({{"numbers", numbers}});
    const auto gone = co_await ask(std::move(removing), 5, "the removal of old runs");
    if (gone.has_error()) co_return gone.error();
    co_return static_cast<std::size_t>(gone->answers[1].affected);
}

}  // namespace pawl::mysql
