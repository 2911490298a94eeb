// SQLite's C interface as values that close themselves, and its errors as pawl's.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::sqlite {

// Whether SQLite waits for the disk at the end of a transaction.
enum class synchronous { full, normal };

// Used by one thread at a time.
class connection {
public:
    // The file must exist. Waits for other processes until the deadline.
    static result<std::unique_ptr<connection>> open(const std::string& path, instant deadline);
    ~connection() = default;
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    sqlite3* handle() const noexcept { return handle_.get(); }

    // Until when a statement waits for a lock of another process. A passed one:
    // it tries once.
    void wait_until(instant deadline) noexcept {
        deadline_ = deadline;
        has_waited_ = false;
    }
    // Whether one has waited since.
    bool has_waited() const noexcept { return has_waited_; }
    // Pauses before the next try, longer each time. False once the deadline has passed.
    bool pause(int times) noexcept;

    // What commits from now on wait for. Between transactions only. Returns SQLite's code.
    int commit_with(synchronous durability) noexcept;
    // Runs statements without parameters. Returns SQLite's code.
    int run(const char* statements) noexcept;

    // What went wrong, for a transaction of which nothing took effect.
    failure rejected(int code) const;
    // The same for one that failed while it was committed.
    failure in_doubt(int code) const;

private:
    connection(std::string path, sqlite3* handle);
    static int when_busy(void* self, int times) noexcept;

    struct closing {
        void operator()(sqlite3* open) const noexcept { sqlite3_close_v2(open); }
    };

    const std::string path_;
    std::unique_ptr<sqlite3, closing> handle_;
    instant deadline_{};
    bool has_waited_ = false;
    std::optional<synchronous> durability_{};
};

// A statement that is prepared when it first runs, and kept for many runs: a command that ends soon
// needs few of all that there are. Each run is started, and ends with reset(); until then the text
// that is bound must live, and the statement may hold a lock. Not longer than its connection.
class statement {
public:
    statement(connection& on, std::string_view sql) : on_{&on}, sql_{sql} {}

    template <class... Values>
    void start(const Values&... values) {
        prepare();
        started_ = true;
        int place = 0;
        (bind(++place, values), ...);
    }
    // True when there is a row. Otherwise code() tells an end from an error.
    bool next();
    // For statements without rows: starts, runs and resets; returns whether it worked.
    template <class... Values>
    bool run(const Values&... values) {
        start(values...);
        next();
        reset();
        return code_ == SQLITE_DONE;
    }
    void reset() noexcept;

    // SQLITE_ROW, SQLITE_DONE, or the error of preparing it or of the last run.
    int code() const noexcept { return code_; }

    bool is_null(int column) const;
    std::int64_t integer(int column) const;
    std::string text(int column) const;
    std::optional<std::int64_t> optional_integer(int column) const;

private:
    void prepare();
    void bind(int place, std::int64_t value);
    void bind(int place, std::string_view value);
    void bind(int place, const std::optional<std::int64_t>& value);

    struct finalizing {
        void operator()(sqlite3_stmt* prepared) const noexcept { sqlite3_finalize(prepared); }
    };
    connection* on_;
    std::string sql_;
    std::unique_ptr<sqlite3_stmt, finalizing> prepared_;
    bool started_ = false;
    int code_ = SQLITE_OK;
};

}  // namespace pawl::sqlite
