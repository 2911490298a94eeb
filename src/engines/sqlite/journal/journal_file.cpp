#include "engines/sqlite/journal/journal_file.hpp"

#include "time/clocks.hpp"

#include "journal_schema_sql.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

namespace pawl::sqlite {
namespace {

constexpr std::int64_t layout = 1;

// 0: there is no journal in this file yet.
result<std::int64_t> layout_of(connection& on) {
    statement ask{on, "SELECT count(*) FROM sqlite_schema WHERE name = 'pawl_journal'"};
    if (!ask.next()) return on.rejected(ask.code());
    if (ask.integer(0) == 0) return std::int64_t{0};
    statement read{on, "SELECT layout FROM pawl_journal"};
    if (!read.next()) return on.rejected(read.code() == SQLITE_DONE ? SQLITE_CORRUPT : read.code());
    return read.integer(0);
}

std::optional<failure> reject_layout(const std::string& path, std::int64_t found) {
    if (found <= layout) return std::nullopt;
    return failure{errc::unsupported, "the store " + path + " has a journal of layout " +
                                          std::to_string(found) + ", and this pawl knows " +
                                          std::to_string(layout) + " at most: use a newer pawl"};
}

// REQUIRES: a transaction that writes has begun.
std::optional<failure> write_layout(connection& on, const std::string& path) {
    const auto found = layout_of(on);  // another process may have been first
    if (found.has_error()) return found.error();
    if (*found != 0) return reject_layout(path, *found);
    const auto script = std::string{embedded::journal_schema_sql} +
                        "INSERT INTO pawl_journal VALUES (1, " + std::to_string(layout) + ")";
    if (const int code = on.run(script.c_str()); code != SQLITE_OK) return on.rejected(code);
    return std::nullopt;
}

// REQUIRES: as above.
result<std::int64_t> number_space(connection& on, const std::string& name) {
    statement add{on, sql("space_add")};
    if (!add.run(name)) return on.rejected(add.code());
    statement find{on, sql("space_find")};
    find.start(name);
    if (!find.next()) return on.rejected(find.code());
    const auto space = find.integer(0);
    find.reset();
    return space;
}

// Opening again and again writes nothing.
std::optional<std::int64_t> known_space(connection& on, const std::string& name) {
    statement find{on, sql("space_find")};
    find.start(name);
    std::optional<std::int64_t> space;
    if (find.next()) space = find.integer(0);
    find.reset();
    return space;
}

// The number of the namespace in this file, whose journal is made where there is none.
result<std::int64_t> prepare_journal(connection& on, const std::string& path,
                                     const std::string& name_space) {
    const auto found = layout_of(on);
    if (found.has_error()) return found.error();
    if (auto fault = reject_layout(path, *found)) return std::move(*fault);
    if (*found != 0)
        if (const auto space = known_space(on, name_space)) return *space;
    if (const int code = on.run("BEGIN IMMEDIATE"); code != SQLITE_OK) return on.rejected(code);
    result<std::int64_t> space{std::int64_t{0}};
    if (auto fault = write_layout(on, path))
        space = std::move(*fault);
    else
        space = number_space(on, name_space);
    if (space.has_value()) {
        const int code = on.run("COMMIT");
        if (code == SQLITE_OK) return space;
        space = on.rejected(code);
    }
    on.run("ROLLBACK");
    return space;
}

bool has_passed(instant deadline) { return lease_clock::now() >= deadline; }

}  // namespace

journal_session::on_writer::on_writer(connection& on, std::int64_t space)
    : tables{on, space},
      begin{on, "BEGIN IMMEDIATE"},
      commit{on, "COMMIT"},
      roll_back{on, "ROLLBACK"},
      begin_reading{on, "BEGIN"} {}

journal_session::on_reader::on_reader(connection& on, std::int64_t space)
    : tables{on, space}, begin{on, "BEGIN"}, end{on, "COMMIT"} {}

journal_session::journal_session(std::shared_ptr<store_file> opened, std::int64_t number)
    : file{std::move(opened)},
      space{number},
      writing{std::make_shared<on_writer>(file->writer(), space)} {}

std::optional<failure> journal_session::prepare_reading(const std::string& path, instant deadline) {
    if (auto fault = reader.open(path, file->identity, deadline)) return fault;
    if (reader.is_open() && !reading) reading.emplace(reader.get(), space);
    return std::nullopt;
}

journal_file::journal_file(std::string path, sqlite_settings settings)
    : followed_file{path, "the journal in " + path, settings.common.timeout},
      settings_{std::move(settings)} {}

result<std::shared_ptr<journal_file>> journal_file::open(const std::string& path,
                                                         sqlite_settings settings) {
    const auto deadline = lease_clock::now() + settings.common.timeout;
    std::shared_ptr<journal_file> opened{new journal_file{whole_path(path), std::move(settings)}};
    if (auto fault = opened->reopen(deadline)) return std::move(*fault);
    return opened;
}

std::int64_t journal_file::now() {
    return std::chrono::floor<millis>(time::wall_now().time_since_epoch()).count();
}

result<std::unique_ptr<journal_session>> journal_file::open_session(instant deadline) {
    auto opened = open_store_file(path(), settings_.durability, deadline);
    if (opened.has_error()) return opened.error();
    const auto& file = *opened;
    std::unique_lock writing{file->writers(), std::defer_lock};
    if (!writing.try_lock_until(deadline)) return overdue();
    file->writer().wait_until(deadline);
    const auto space = prepare_journal(file->writer(), path(), settings_.common.name_space);
    if (space.has_error()) return space.error();
    return std::make_unique<journal_session>(file, *space);
}

std::optional<failure> journal_file::transact(
    journal_session& on, std::span<const std::shared_ptr<waiting_write>> batch) {
    auto& by = on.file->writer();
    const bool full = settings_.durability == synchronous::full &&
                      std::any_of(batch.begin(), batch.end(), [](const auto& each) {
                          return each->durability == synchronous::full;
                      });
    const int set = by.commit_with(full ? synchronous::full : synchronous::normal);
    if (set != SQLITE_OK) return by.rejected(set);
    auto& [tables, begin, commit, roll_back, begin_reading] = *on.writing;
    // A failed COMMIT, or an error such as a full disk, may have rolled back already.
    const auto undo = [&] {
        if (sqlite3_get_autocommit(by.handle()) == 0) roll_back.run();
    };
    if (!begin.run()) return by.rejected(begin.code());
    if (by.has_waited() && !is_still_there()) {
        undo();
        return failure{errc::unreachable, "another file took the path " + path() + " meanwhile"};
    }
    tables.start();
    const auto at = now();
    for (const auto& each : batch) each->run(tables, at);
    if (tables.fault() != SQLITE_OK) {
        auto fault = by.rejected(tables.fault());
        undo();
        return fault;
    }
    if (commit.run()) return std::nullopt;
    auto fault = by.in_doubt(commit.code());
    undo();
    return fault;
}

std::optional<failure> journal_file::write_together(
    std::span<const std::shared_ptr<waiting_write>> batch, instant deadline) {
    auto turn = to_write(deadline);
    if (turn.has_error()) return turn.error();
    return transact(**turn, batch);
}

void journal_file::write(std::span<const std::shared_ptr<waiting_write>> batch) {
    if (batch.empty()) return;
    // No caller waits longer than it said because another is more patient.
    auto deadline = batch.front()->deadline;
    for (const auto& each : batch) deadline = std::min(deadline, each->deadline);
    const auto fault = write_together(batch, deadline);
    if (!fault) return;
    if (batch.size() == 1) {
        batch.front()->fault = *fault;
        return;
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
        // One that could not be done must not take the others with it; but what may have had an
        // effect is not done again, and what fails all by itself has failed for all.
        const bool again = fault->code != errc::outcome_unknown && !has_passed(batch[i]->deadline);
        if (!again)
            batch[i]->fault = *fault;
        else
            write(batch.subspan(i, 1));
    }
}

}  // namespace pawl::sqlite
