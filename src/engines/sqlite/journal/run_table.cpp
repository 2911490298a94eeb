#include "engines/sqlite/journal/run_table.hpp"

#include "engines/rules/journal/sql_rows.hpp"
#include "engines/rules/journal/texts.hpp"

#include <algorithm>
#include <utility>

namespace pawl::sqlite {
namespace {

// Small chunks are joined up to this size: a row each would cost more than their bytes.
constexpr std::int64_t joined_bytes_max = std::int64_t{16} * 1024;

std::int64_t signed_number(fence_token token) { return static_cast<std::int64_t>(number(token)); }
fence_token token_of(std::int64_t value) { return fence_token{static_cast<std::uint64_t>(value)}; }
std::int64_t as_integer(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::int64_t as_integer(bool value) { return value ? 1 : 0; }

std::optional<std::int64_t> occurrence_of(const run_record& run) {
    if (!run.occurrence) return std::nullopt;
    return number(*run.occurrence);
}
std::optional<std::int64_t> exit_of(const run_record& run) {
    if (!run.exit_status) return std::nullopt;
    return *run.exit_status;
}

// The columns of pawl_run in the order of journal_schema.sql.
placed_run run_from(const statement& row) {
    const auto status = run_status_named(row.text(12)).value_or(run_status::lost);
    return {row.integer(0), journals::row_of(row, 1, journals::run_with(row, 1, status))};
}

}  // namespace

run_table::run_table(connection& on, std::int64_t space)
    : noted_statements{on},
      space_{space},
      find_{on, sql("run_find")},
      find_occurrence_{on, sql("run_find_firing")},
      insert_{on, sql("run_insert")},
      take_over_{on, sql("run_take_over")},
      update_{on, sql("run_update")},
      beat_{on, sql("run_beat")},
      save_{on, sql("run_save")},
      grow_{on, sql("run_grow")},
      find_saved_{on, sql("checkpoint_find")},
      put_saved_{on, sql("checkpoint_put")},
      newest_event_{on, sql("event_newest")},
      add_event_{on, sql("event_add")},
      trim_events_{on, sql("event_trim")},
      list_events_{on, sql("event_list")},
      remove_events_{on, sql("event_remove")},
      last_output_{on, sql("output_last")},
      add_output_{on, sql("output_add")},
      extend_output_{on, sql("output_extend")},
      trim_output_{on, sql("output_trim")},
      read_output_{on, sql("output_read")},
      remove_output_{on, sql("output_remove")},
      list_{on, sql("run_list")},
      list_job_{on, sql("run_list_job")},
      list_node_{on, sql("run_list_node")},
      list_status_{on, sql("run_list_status")},
      stale_{on, sql("run_stale")},
      cancels_{on, sql("run_cancels")},
      orphans_{on, sql("run_orphans")},
      beyond_{on, sql("prune_beyond")},
      prune_number_{on, sql("prune_number")},
      prune_age_{on, sql("prune_age")},
      remove_{on, sql("prune_remove")} {}

std::optional<placed_run> run_table::find(const std::string& id) {
    std::optional<placed_run> found;
    find_.start(space_, id);
    if (row(find_)) found = run_from(find_);
    find_.reset();
    return found;
}

std::optional<placed_run> run_table::find_occurrence(const std::string& job,
                                                     std::uint32_t partition,
                                                     pawl::occurrence occurrence) {
    std::optional<placed_run> found;
    find_occurrence_.start(space_, job, std::int64_t{partition}, number(occurrence));
    if (row(find_occurrence_)) found = run_from(find_occurrence_);
    find_occurrence_.reset();
    return found;
}

void run_table::insert(const journals::run_row& of, const std::optional<run_event>& event) {
    const auto& what = of.record;
    run(insert_, space_, what.id, what.job, std::int64_t{what.partition}, what.key, what.owner,
        what.node, signed_number(what.token), occurrence_of(what),
        as_integer(what.delivery == delivery::at_least_once), what.trigger, name_of(what.status),
        what.reason, what.started_at, what.completed_at, what.last_heartbeat, exit_of(what),
        std::int64_t{what.attempt}, what.checkpoint, as_integer(what.output_size),
        as_integer(what.cancel_requested), std::int64_t{of.heartbeat_timeout.count()},
        as_integer(of.taken_over));
    add_event(sqlite3_last_insert_rowid(by().handle()), event);
}

void run_table::take_over(std::int64_t place, const journals::run_row& of,
                          const std::optional<run_event>& event) {
    const auto& what = of.record;
    run(take_over_, place, what.key, what.owner, what.node, signed_number(what.token),
        as_integer(what.delivery == delivery::at_least_once), what.trigger, name_of(what.status),
        what.reason, what.started_at, what.completed_at, what.last_heartbeat, exit_of(what),
        std::int64_t{what.attempt}, what.checkpoint, std::int64_t{of.heartbeat_timeout.count()},
        as_integer(of.taken_over));
    add_event(place, event);
}

void run_table::update(std::int64_t place, const journals::run_row& of,
                       const std::optional<run_event>& event) {
    const auto& what = of.record;
    run(update_, place, name_of(what.status), what.reason, what.completed_at, exit_of(what),
        std::int64_t{what.attempt}, as_integer(what.cancel_requested), what.started_at);
    add_event(place, event);
}

heartbeat_result run_table::heartbeat(const run_ref& who, std::int64_t now) {
    auto answer = heartbeat_result::stale;
    beat_.start(space_, who.id, signed_number(who.token), name_of(run_status::started), now);
    while (row(beat_))
        answer =
            beat_.integer(0) != 0 ? heartbeat_result::cancel_requested : heartbeat_result::alive;
    beat_.reset();
    return answer;
}

journals::saved_checkpoint run_table::saved(const std::string& job, std::uint32_t partition) {
    journals::saved_checkpoint found;
    find_saved_.start(space_, job, std::int64_t{partition});
    if (row(find_saved_)) {
        found.token = token_of(find_saved_.integer(0));
        found.text = find_saved_.text(1);
    }
    find_saved_.reset();
    return found;
}

void run_table::save(const placed_run& of, const journals::saved_checkpoint& saved,
                     const std::optional<run_event>& event) {
    const auto& what = of.row.record;
    run(save_, of.place, what.checkpoint);
    run(put_saved_, space_, what.job, std::int64_t{what.partition}, signed_number(saved.token),
        saved.text);
    add_event(of.place, event);
}

void run_table::add_event(std::int64_t place, const std::optional<run_event>& event) {
    if (!event) return;
    std::int64_t last = 0;
    run_event newest;
    newest_event_.start(place);
    if (row(newest_event_)) {
        last = newest_event_.integer(0);
        newest.kind = newest_event_.text(1);
        newest.text = newest_event_.text(2);
        newest.node = newest_event_.text(3);
        newest.token = token_of(newest_event_.integer(4));
        newest.attempt = static_cast<int>(newest_event_.integer(5));
    }
    newest_event_.reset();
    if (last > 0 && journals::repeats(newest, *event)) return;
    const auto next = last + 1;
    run(add_event_, place, next, event->at, event->kind, event->text, event->node,
        signed_number(event->token), std::int64_t{event->attempt});
    constexpr auto kept = static_cast<std::int64_t>(run_events_max);
    if (next > kept) run(trim_events_, place, next - kept + 1);
}

std::vector<run_event> run_table::events(const std::string& id) {
    std::vector<run_event> found;
    list_events_.start(space_, id);
    while (row(list_events_)) found.push_back(journals::event_at(list_events_));
    list_events_.reset();
    return found;
}

void run_table::append_output(const placed_run& of, const journals::output_plan& plan,
                              std::string_view bytes) {
    const auto size = static_cast<std::int64_t>(bytes.size() - plan.skip);
    if (size == 0) return;
    std::int64_t start = 0;
    std::int64_t length = 0;
    last_output_.start(of.place);
    if (row(last_output_)) {
        start = last_output_.integer(0);
        length = last_output_.integer(1);
    }
    last_output_.reset();
    const auto offset = as_integer(plan.offset);
    const auto added = bytes.substr(plan.skip);
    if (length > 0 && start + length == offset && length + size <= joined_bytes_max)
        run(extend_output_, of.place, start, added);
    else
        run(add_output_, of.place, offset, added);
    run(grow_, of.place, as_integer(plan.size));
    if (plan.floor > 0) run(trim_output_, of.place, as_integer(plan.floor));
}

output_part run_table::read_output(const placed_run& of, std::uint64_t offset,
                                   std::size_t bytes_max) {
    output_part part;
    part.size = of.row.record.output_size;
    part.over = is_finished(of.row.record.status);
    part.offset = std::max(offset, part.size);
    if (offset >= part.size) return part;
    read_output_.start(of.place, as_integer(offset), as_integer(std::uint64_t{bytes_max}));
    while (part.bytes.size() < bytes_max && row(read_output_)) {
        const auto start = static_cast<std::uint64_t>(read_output_.integer(0));
        const auto length = static_cast<std::uint64_t>(read_output_.integer(1));
        if (start + length <= offset) continue;
        if (part.bytes.empty()) part.offset = std::max(offset, start);
        if (start > part.offset + part.bytes.size()) break;
        part.bytes += read_output_.text(2);
    }
    read_output_.reset();
    if (part.bytes.size() > bytes_max) part.bytes.resize(bytes_max);
    return part;
}

std::vector<run_record> run_table::records(statement& started) {
    std::vector<run_record> found;
    while (row(started)) found.push_back(run_from(started).row.record);
    started.reset();
    return found;
}

// The statement that looks at the fewest rows, started. One row more than asked for tells whether
// there is a next page.
// `node` lives until the statement is reset.
statement& run_table::start_list(const run_filter& which, std::uint64_t before, std::size_t limit,
                                 const std::string& node) {
    const auto place = as_integer(before);
    const auto rows = static_cast<std::int64_t>(limit) + 1;
    const auto status = which.status ? name_of(*which.status) : std::string_view{};
    if (which.job) {
        list_job_.start(space_, place, rows, *which.job, status, as_integer(which.node.has_value()),
                        node);
        return list_job_;
    }
    if (which.node) {
        list_node_.start(space_, place, rows, *which.node, status);
        return list_node_;
    }
    if (which.status) {
        list_status_.start(space_, place, rows, status);
        return list_status_;
    }
    list_.start(space_, place, rows);
    return list_;
}

run_page run_table::list(const run_filter& which, std::uint64_t before, std::size_t limit) {
    const auto node = which.node.value_or("");
    auto& chosen = start_list(which, before, limit, node);
    run_page page;
    std::int64_t last = 0;
    while (row(chosen)) {
        if (page.records.size() == limit) {
            page.next = journals::cursor_at(static_cast<std::uint64_t>(last));
            break;
        }
        auto found = run_from(chosen);
        last = found.place;
        page.records.push_back(std::move(found.row.record));
    }
    chosen.reset();
    return page;
}

std::vector<run_record> run_table::stale(std::int64_t now, std::size_t limit, std::size_t skip) {
    stale_.start(space_, now, as_integer(std::uint64_t{limit}), as_integer(std::uint64_t{skip}));
    return records(stale_);
}

std::vector<std::string> run_table::cancels(std::size_t limit) {
    std::vector<std::string> found;
    cancels_.start(space_, as_integer(std::uint64_t{limit}));
    while (row(cancels_)) found.push_back(cancels_.text(0));
    cancels_.reset();
    return found;
}

std::vector<run_record> run_table::orphans(std::size_t limit) {
    orphans_.start(space_, as_integer(std::uint64_t{limit}));
    return records(orphans_);
}

std::vector<std::int64_t> run_table::places(statement& started) {
    std::vector<std::int64_t> found;
    while (row(started)) found.push_back(started.integer(0));
    started.reset();
    return found;
}

std::vector<std::int64_t> run_table::beyond(const std::string& job, std::size_t keep,
                                            std::size_t limit) {
    beyond_.start(space_, job, as_integer(std::uint64_t{keep}));
    const auto newest = places(beyond_);
    if (newest.empty()) return {};
    prune_number_.start(space_, job, newest.front(), as_integer(std::uint64_t{limit}));
    return places(prune_number_);
}

std::vector<std::int64_t> run_table::ended_before(const std::string& job, std::int64_t when,
                                                  std::size_t limit) {
    prune_age_.start(space_, job, when, as_integer(std::uint64_t{limit}));
    return places(prune_age_);
}

bool run_table::remove(std::int64_t place) {
    const auto before = sqlite3_total_changes(by().handle());
    run(remove_, place, space_);
    if (sqlite3_total_changes(by().handle()) == before) return false;
    run(remove_events_, place);
    run(remove_output_, place);
    return true;
}

}  // namespace pawl::sqlite
