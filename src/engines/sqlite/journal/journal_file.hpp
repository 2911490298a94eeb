// The file of a journal: its connections and statements, and transactions on them as calls that
// block.
#pragma once

#include "engines/sqlite/client/deadline_mutex.hpp"
#include "engines/sqlite/journal/control_table.hpp"
#include "engines/sqlite/journal/run_table.hpp"
#include "engines/sqlite/store/sqlite_store.hpp"
#include "engines/sqlite/store/store_file.hpp"

#include <pawl/clock.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
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

// Thread-safe. A deadline bounds the wait for other threads and processes; once a transaction has
// begun it is finished.
class journal_file {
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
    struct session {
        session(store_file opened, std::int64_t space);
        session(const session&) = delete;
        session& operator=(const session&) = delete;
        static int after_commit(void* self, sqlite3* on, const char* name, int pages);
        store_file file;
        journal_tables writing;
        journal_tables reading;
        statement begin, commit, roll_back;
        statement begin_reading, end_reading;
        int restart_at = 0;  // pages in the log
    };

    journal_file(std::string path, sqlite_settings settings);

    static std::int64_t now();
    std::optional<failure> write_together(std::span<const std::shared_ptr<waiting_write>> batch,
                                          instant deadline);
    std::optional<failure> transact(std::span<const std::shared_ptr<waiting_write>> batch);
    // Opens the file anew if another has taken its place.
    std::optional<failure> follow(instant deadline);
    std::optional<failure> reopen(instant deadline);
    void roll_back();
    failure overdue() const;

    // Constant after construction
    const std::string path_;
    const sqlite_settings settings_;

    // A writer takes writers_; a reader readers_; whoever opens the file anew both, in this order.
    deadline_mutex writers_;
    deadline_mutex readers_;
    std::unique_ptr<session> session_;

    std::atomic<std::int64_t> look_again_{0};  // on the lease clock
    std::mutex identity_mutex_;
    file_identity identity_;  // under identity_mutex_; of the file that is open
};

template <class Step>
auto journal_file::read(instant deadline, Step step)
    -> result<decltype(step(std::declval<journal_tables&>(), std::int64_t{}))> {
    if (auto fault = follow(deadline)) return std::move(*fault);
    std::unique_lock lock{readers_, std::defer_lock};
    if (!lock.try_lock_until(deadline) || !session_) return overdue();
    auto& by = *session_->file.reader;
    by.wait_until(deadline);
    auto& tables = session_->reading;
    tables.start();
    if (!session_->begin_reading.run()) return by.refused(session_->begin_reading.code());
    auto answer = step(tables, now());
    // Always, or a reader would keep the log from being emptied.
    session_->end_reading.run();
    if (tables.fault() != SQLITE_OK) return by.refused(tables.fault());
    return answer;
}

}  // namespace pawl::sqlite
