// Acquire and release on SQLite, beside the bare statements on a file of the same layout.
#include "benchmarks/folder.hpp"
#include "benchmarks/measure.hpp"

#include <sqlite3.h>

#include <memory>
#include <stdexcept>

namespace pawl::benchmarks {
namespace {

constexpr lease_options half_a_minute{.ttl = millis{30'000}};

struct close_database {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

// What a careful hand would write: prepared statements, one transaction for each verb, and, as pawl
// does, a release that is not synced: a loss of power ends all leases anyway.
class bare_sqlite {
public:
    bare_sqlite(const std::string& path, const char* synchronous) {
        sqlite3* raw = nullptr;
        if (sqlite3_open(path.c_str(), &raw) != SQLITE_OK)
            throw std::runtime_error{"sqlite3_open failed"};
        database_.reset(raw);
        run("PRAGMA journal_mode=WAL");
        run(std::string{"PRAGMA synchronous="} + synchronous);
        run("CREATE TABLE lease (key TEXT PRIMARY KEY, holder INTEGER NOT NULL, id TEXT NOT NULL, "
            "owner TEXT NOT NULL, "
            "acquired INTEGER NOT NULL, until INTEGER NOT NULL, last_token INTEGER NOT NULL, "
            "last_done INTEGER) STRICT, WITHOUT ROWID");
        run("INSERT INTO lease VALUES ('key', 0, '', '', 0, 0, 0, NULL)");
        begin_ = prepare("BEGIN IMMEDIATE");
        commit_ = prepare("COMMIT");
        find_ = prepare(
            "SELECT holder, id, owner, acquired, until, last_token, last_done FROM lease WHERE key "
            "= ?1");
        take_ = prepare(
            "UPDATE lease SET holder = ?2, id = ?3, owner = ?4, acquired = ?5, until = ?6, "
            "last_token = ?2 WHERE key = ?1");
        sync_ = prepare((std::string{"PRAGMA synchronous="} + synchronous).c_str());
        do_not_sync_ = prepare("PRAGMA synchronous=normal");
        leave_ = prepare("UPDATE lease SET holder = 0, id = '', until = ?2 WHERE key = ?1");
    }

    void pair() {
        ++token_;
        step(sync_);
        step(begin_);
        find();
        sqlite3_bind_text(take_.get(), 1, "key", 3, SQLITE_STATIC);
        sqlite3_bind_int64(take_.get(), 2, token_);
        sqlite3_bind_text(take_.get(), 3, "0123456789abcdef0123456789abcdef", 32, SQLITE_STATIC);
        sqlite3_bind_text(take_.get(), 4, "bench:1:1:bare", 14, SQLITE_STATIC);
        sqlite3_bind_int64(take_.get(), 5, token_);
        sqlite3_bind_int64(take_.get(), 6, token_ + 30'000'000);
        step(take_);
        step(commit_);
        step(do_not_sync_);
        step(begin_);
        find();
        sqlite3_bind_text(leave_.get(), 1, "key", 3, SQLITE_STATIC);
        sqlite3_bind_int64(leave_.get(), 2, token_);
        step(leave_);
        step(commit_);
    }

private:
    using statement = std::unique_ptr<sqlite3_stmt, finalize>;

    void run(const std::string& text) {
        if (sqlite3_exec(database_.get(), text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
            throw std::runtime_error{sqlite3_errmsg(database_.get())};
    }
    statement prepare(const char* text) {
        sqlite3_stmt* raw = nullptr;
        if (sqlite3_prepare_v2(database_.get(), text, -1, &raw, nullptr) != SQLITE_OK)
            throw std::runtime_error{sqlite3_errmsg(database_.get())};
        return statement{raw};
    }
    void step(const statement& what) {
        const int code = sqlite3_step(what.get());
        sqlite3_reset(what.get());
        if (code != SQLITE_DONE && code != SQLITE_ROW)
            throw std::runtime_error{sqlite3_errmsg(database_.get())};
    }
    void find() {
        sqlite3_bind_text(find_.get(), 1, "key", 3, SQLITE_STATIC);
        step(find_);
    }

    std::unique_ptr<sqlite3, close_database> database_;
    statement begin_, commit_, sync_, do_not_sync_, find_, take_, leave_;
    std::int64_t token_ = 1;
};

void one_caller(const char* synchronous, int rounds) {
    const folder place;
    bare_sqlite bare{place.file("bare.db"), synchronous};
    auto store = locks::open("sqlite:" + place.file("ours.db") + "?synchronous=" + synchronous);
    const auto both = compare(
        rounds, [&] { bare.pair(); },
        [&] { store.try_acquire("key", half_a_minute).value().release(); });
    print_row(std::string{"SQLite, acquire + release, synchronous="} + synchronous +
                  "; bare: the same statements",
              micros_text(both.bare), micros_text(both.ours), both.ours / both.bare, "≤ 1.25",
              both.ours / both.bare <= 1.25);
}

void benchmark_sqlite() {
    one_caller("full", 2000);
    one_caller("normal", 4000);
}

const benchmark registered{20, "sqlite", benchmark_sqlite};

}  // namespace
}  // namespace pawl::benchmarks
