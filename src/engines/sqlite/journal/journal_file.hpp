// The file of a journal: its connections and statements, and transactions on them as calls that
// block.
#pragma once

#include "engines/sqlite/journal/control_table.hpp"
#include "engines/sqlite/journal/run_table.hpp"
#include "engines/sqlite/store/followed_file.hpp"
#include "engines/sqlite/store/sqlite_store.hpp"
#include "engines/sqlite/store/store_file.hpp"

#include <pawl/clock.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace pawl::sqlite {

// What the steps of a transaction work on.
struct journal_tables {
    run_table runs;
    control_table controls;

    journal_tables(connection& on, std::int64_t space) : runs{on, space}, controls{on, space} {}
    void start() noexcept {
        runs.start();
        controls.start();
    }
    int fault() const noexcept {
        return runs.fault() != SQLITE_OK ? runs.fault() : controls.fault();
    }
};

// A write that waits for its turn. Its step may run more than once, and only the last time counts.
struct waiting_write {
    waiting_write() = default;
    virtual ~waiting_write() = default;
    waiting_write(const waiting_write&) = delete;
    waiting_write& operator=(const waiting_write&) = delete;
    virtual void run(journal_tables& on, std::int64_t now) = 0;

    instant deadline{};
    synchronous durability = synchronous::full;
    std::optional<failure> fault{};  // why it had no effect, or may have had one
};

constexpr std::size_t writes_per_transaction_max = 64;

// The file with the journal's statements.
struct journal_session {
    struct on_writer {
        on_writer(connection& on, std::int64_t space);
        journal_tables tables;
        statement begin, commit, roll_back, begin_reading;
    };
    struct on_reader {
        on_reader(connection& on, std::int64_t space);
        journal_tables tables;
        statement begin, end;
    };

    journal_session(std::shared_ptr<store_file> opened, std::int64_t number);
    ~journal_session() { file->retire(std::move(writing)); }
    journal_session(const journal_session&) = delete;
    journal_session& operator=(const journal_session&) = delete;

    std::optional<failure> prepare_reading(const std::string& path, instant deadline);

    const std::shared_ptr<store_file> file;
    const std::int64_t space;  // the number of the namespace in this file
    std::shared_ptr<on_writer> writing;
    lazy_reader reader;
    std::optional<on_reader> reading;  // if the reader is open
};

// Thread-safe. A deadline bounds the wait for other threads and processes; once a transaction has
// begun it is finished.
class journal_file : private followed_file<journal_session> {
public:
    static result<std::shared_ptr<journal_file>> open(const std::string& path,
                                                      sqlite_settings settings);

    const store_settings& settings() const noexcept { return settings_.common; }

    // All in one transaction, which waits for the disk if one of them asks for that. Where one of
    // them cannot be done, each is done in a transaction of its own.
    void write(std::span<const std::shared_ptr<waiting_write>> batch);
    // Step: T(journal_tables&, std::int64_t now), in one snapshot.
    template <class Step>
    auto read(instant deadline, Step step)
        -> result<decltype(step(std::declval<journal_tables&>(), std::int64_t{}))>;

private:
    template <class Step>
    static auto read_by(connection& by, journal_tables& tables, statement& begin, statement& end,
                        Step& step)
        -> result<decltype(step(std::declval<journal_tables&>(), std::int64_t{}))>;
    journal_file(std::string path, sqlite_settings settings);

    static std::int64_t now();
    std::optional<failure> write_together(std::span<const std::shared_ptr<waiting_write>> batch,
                                          instant deadline);
    std::optional<failure> transact(journal_session& on,
                                    std::span<const std::shared_ptr<waiting_write>> batch);
    result<std::unique_ptr<journal_session>> open_session(instant deadline) override;

    // Constant after construction
    const sqlite_settings settings_;

    // What is read first is read by the connection that is open: to a command that reads once, a
    // second one costs as much as a transaction. Later reads hold up no write.
    std::atomic<bool> has_read_{false};
};

template <class Step>
auto journal_file::read(instant deadline, Step step)
    -> result<decltype(step(std::declval<journal_tables&>(), std::int64_t{}))> {
    if (!has_read_.exchange(true, std::memory_order_relaxed)) {
        // Only if no thread writes just now.
        if (auto turn = to_write(lease_clock::now()); turn.has_value()) {
            auto& by = (*turn)->file->writer();
            by.wait_until(deadline);
            auto& on = *(*turn)->writing;
            auto answer = read_by(by, on.tables, on.begin_reading, on.commit, step);
            if (sqlite3_get_autocommit(by.handle()) == 0) on.roll_back.run();
            return answer;
        }
    }
    auto turn = to_read(deadline);
    if (turn.has_error()) return turn.error();
    auto& by = (*turn)->reader.get();
    by.wait_until(deadline);
    auto& on = *(*turn)->reading;
    return read_by(by, on.tables, on.begin, on.end, step);
}

template <class Step>
auto journal_file::read_by(connection& by, journal_tables& tables, statement& begin, statement& end,
                           Step& step)
    -> result<decltype(step(std::declval<journal_tables&>(), std::int64_t{}))> {
    tables.start();
    if (!begin.run()) return by.rejected(begin.code());
    auto answer = step(tables, now());
    // Always, or a reader would keep the log from being emptied.
    end.run();
    if (tables.fault() != SQLITE_OK) return by.rejected(tables.fault());
    return answer;
}

}  // namespace pawl::sqlite
