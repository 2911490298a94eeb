#include "engines/sqlite/journal/journal_file.hpp"

#include "base/duration.hpp"
#include "time/clocks.hpp"

#include "journal_schema_sql.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

namespace pawl::sqlite {
namespace {

constexpr std::int64_t layout = 1;

// How long a file is taken to be the one at its path: to look costs a part of a transaction.
constexpr auto look_interval = std::chrono::milliseconds{10};

// When the log is emptied into the file, in pages of 2 KiB. SQLite does the first by itself, and
// starts the log anew when nobody reads: where somebody always does, it would grow without end. So
// from the second on the readers of that moment are waited for, but not for long, because leases
// wait as well; and not at every commit.
constexpr int pages_until_emptied = 1000;
constexpr int pages_until_restart = 2000;
constexpr int pages_between_restarts = 500;
constexpr auto restart_timeout = std::chrono::milliseconds{20};

// 0: there is no journal in this file yet.
result<std::int64_t> layout_of(connection& on) {
    statement ask{on, "SELECT count(*) FROM sqlite_schema WHERE name = 'pawl_journal'"};
    if (!ask.next()) return on.refused(ask.code());
    if (ask.integer(0) == 0) return std::int64_t{0};
    statement read{on, "SELECT layout FROM pawl_journal"};
    if (!read.next()) return on.refused(read.code() == SQLITE_DONE ? SQLITE_CORRUPT : read.code());
    return read.integer(0);
}

std::optional<failure> refuse_layout(const std::string& path, std::int64_t found) {
    if (found <= layout) return std::nullopt;
    return failure{errc::unsupported, "the store " + path + " has a journal of layout " +
                                          std::to_string(found) + ", and this pawl knows " +
                                          std::to_string(layout) + " at most: use a newer pawl"};
}

// REQUIRES: a transaction that writes has begun.
std::optional<failure> write_layout(connection& on, const std::string& path) {
    const auto found = layout_of(on);  // another process may have been first
    if (found.has_error()) return found.error();
    if (*found != 0) return refuse_layout(path, *found);
    const auto script = std::string{embedded::journal_schema_sql} +
                        "INSERT INTO pawl_journal VALUES (1, " + std::to_string(layout) + ")";
    if (const int code = on.run(script.c_str()); code != SQLITE_OK) return on.refused(code);
    return std::nullopt;
}

// REQUIRES: as above.
result<std::int64_t> number_space(connection& on, const std::string& name) {
    statement add{on, sql("space_add")};
    if (!add.run(name)) return on.refused(add.code());
    statement find{on, sql("space_find")};
    find.start(name);
    if (!find.next()) return on.refused(find.code());
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
    if (auto fault = refuse_layout(path, *found)) return std::move(*fault);
    if (*found != 0)
        if (const auto space = known_space(on, name_space)) return *space;
    if (const int code = on.run("BEGIN IMMEDIATE"); code != SQLITE_OK) return on.refused(code);
    result<std::int64_t> space{std::int64_t{0}};
    if (auto fault = write_layout(on, path))
        space = std::move(*fault);
    else
        space = number_space(on, name_space);
    if (space.has_value()) {
        const int code = on.run("COMMIT");
        if (code == SQLITE_OK) return space;
        space = on.refused(code);
    }
    on.run("ROLLBACK");
    return space;
}

bool is_over(instant deadline) { return lease_clock::now() >= deadline; }

}  // namespace

journal_file::session::session(store_file opened, std::int64_t space)
    : file{std::move(opened)},
      writing{*file.writer, space},
      reading{*file.reader, space},
      begin{*file.writer, "BEGIN IMMEDIATE"},
      commit{*file.writer, "COMMIT"},
      roll_back{*file.writer, "ROLLBACK"},
      begin_reading{*file.reader, "BEGIN"},
      end_reading{*file.reader, "COMMIT"},
      restart_at{pages_until_restart} {
    sqlite3_wal_hook(file.writer->handle(), &session::after_commit, this);
}

int journal_file::session::after_commit(void* self, sqlite3* on, const char* name, int pages) {
    auto& mine = *static_cast<session*>(self);
    if (pages < pages_until_restart) mine.restart_at = pages_until_restart;
    if (pages >= mine.restart_at) {
        mine.restart_at = pages + pages_between_restarts;
        mine.file.writer->wait_until(lease_clock::now() + restart_timeout);
        sqlite3_wal_checkpoint_v2(on, name, SQLITE_CHECKPOINT_RESTART, nullptr, nullptr);
    } else if (pages >= pages_until_emptied) {
        sqlite3_wal_checkpoint_v2(on, name, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    }
    // What was committed is, whatever becomes of the log.
    return SQLITE_OK;
}

journal_file::journal_file(std::string path, sqlite_settings settings)
    : path_{std::move(path)}, settings_{std::move(settings)} {}

result<std::shared_ptr<journal_file>> journal_file::open(const std::string& path,
                                                         sqlite_settings settings) {
    const auto deadline = lease_clock::now() + settings.common.timeout;
    // As the store has it: absolute and without links.
    std::error_code unknown;
    const auto whole = std::filesystem::weakly_canonical(std::filesystem::absolute(path), unknown);
    const auto absolute = unknown ? std::filesystem::absolute(path) : whole;
    std::shared_ptr<journal_file> opened{new journal_file{absolute.string(), std::move(settings)}};
    if (auto fault = opened->reopen(deadline)) return std::move(*fault);
    return opened;
}

std::int64_t journal_file::now() {
    return std::chrono::floor<millis>(time::wall_now().time_since_epoch()).count();
}

failure journal_file::overdue() const {
    return {errc::unreachable, "the journal in " + path_ + " was busy for " +
                                   base::format_duration(settings_.common.timeout) +
                                   ": its disk is slow, or a process holds its lock"};
}

// REQUIRES: writers_ and readers_ are held, or nobody else knows this object.
std::optional<failure> journal_file::reopen(instant deadline) {
    session_.reset();
    {
        const std::lock_guard lock{identity_mutex_};
        identity_ = {};  // whoever comes next tries again, should this fail
    }
    auto opened = open_store_file(path_, settings_.durability, deadline);
    if (opened.has_error()) return opened.error();
    const auto space = prepare_journal(*opened->writer, path_, settings_.common.name_space);
    if (space.has_error()) return space.error();
    const auto identity = opened->identity;
    session_ = std::make_unique<session>(std::move(*opened), *space);
    const std::lock_guard lock{identity_mutex_};
    identity_ = identity;
    return std::nullopt;
}

std::optional<failure> journal_file::follow(instant deadline) {
    const auto here = lease_clock::now().time_since_epoch();
    if (here.count() < look_again_.load(std::memory_order_relaxed)) return std::nullopt;
    const auto there = identity_of(path_);
    const auto same = [&] {
        const std::lock_guard lock{identity_mutex_};
        return there && *there == identity_;
    };
    if (same()) {
        look_again_.store((here + look_interval).count(), std::memory_order_relaxed);
        return std::nullopt;
    }
    std::unique_lock writing{writers_, std::defer_lock};
    std::unique_lock reading{readers_, std::defer_lock};
    if (!writing.try_lock_until(deadline) || !reading.try_lock_until(deadline)) return overdue();
    if (same() && session_) return std::nullopt;
    return reopen(deadline);
}

// A failed COMMIT, or an error such as a full disk, may have rolled back already.
void journal_file::roll_back() {
    if (sqlite3_get_autocommit(session_->file.writer->handle()) == 0) session_->roll_back.run();
}

// REQUIRES: writers_ is held.
std::optional<failure> journal_file::transact(
    std::span<const std::shared_ptr<waiting_write>> batch) {
    auto& by = *session_->file.writer;
    const bool full = settings_.durability == synchronous::full &&
                      std::any_of(batch.begin(), batch.end(), [](const auto& each) {
                          return each->durability == synchronous::full;
                      });
    const int set = by.commit_with(full ? synchronous::full : synchronous::normal);
    if (set != SQLITE_OK) return by.refused(set);
    if (!session_->begin.run()) return by.refused(session_->begin.code());
    auto& tables = session_->writing;
    tables.start();
    const auto at = now();
    for (const auto& each : batch) each->run(tables, at);
    if (tables.fault() != SQLITE_OK) {
        auto fault = by.refused(tables.fault());
        roll_back();
        return fault;
    }
    if (session_->commit.run()) return std::nullopt;
    auto fault = by.in_doubt(session_->commit.code());
    roll_back();
    return fault;
}

std::optional<failure> journal_file::write_together(
    std::span<const std::shared_ptr<waiting_write>> batch, instant deadline) {
    if (auto fault = follow(deadline)) return fault;
    std::unique_lock lock{writers_, std::defer_lock};
    if (!lock.try_lock_until(deadline) || !session_) return overdue();
    session_->file.writer->wait_until(deadline);
    return transact(batch);
}

void journal_file::write(std::span<const std::shared_ptr<waiting_write>> batch) {
    if (batch.empty()) return;
    // Nobody waits longer than he said because of one who is more patient.
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
        const bool again = fault->code != errc::outcome_unknown && !is_over(batch[i]->deadline);
        if (!again)
            batch[i]->fault = *fault;
        else
            write(batch.subspan(i, 1));
    }
}

}  // namespace pawl::sqlite
