// What it costs to write a run down in SQLite, beside the bare statements on a file of the same
// layout.
#include "benchmarks/folder.hpp"
#include "benchmarks/measure.hpp"
#include "engines/sqlite/journal/sqlite_journal.hpp"

#include "base/identity.hpp"
#include "net/boot_timer.hpp"
#include "time/clocks.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>

#include <sqlite3.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace pawl::benchmarks {
namespace {

using boost::asio::awaitable;

struct close_database {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

// What a careful hand would write with the same tables: prepared statements, one transaction for
// each verb, and the same care for the disk.
class bare_journal {
public:
    // REQUIRES: a journal was made at this path, and has run.
    bare_journal(const std::string& path, const char* synchronous) {
        sqlite3* raw = nullptr;
        if (sqlite3_open(path.c_str(), &raw) != SQLITE_OK)
            throw std::runtime_error{"sqlite3_open failed"};
        database_.reset(raw);
        begin_ = prepare("BEGIN IMMEDIATE");
        commit_ = prepare("COMMIT");
        step(prepare((std::string{"PRAGMA synchronous="} + synchronous).c_str()));
        find_occurrence_ = prepare(
            "SELECT * FROM pawl_run WHERE space = 1 AND job_name = ?1 AND partition = 0 AND "
            "occurrence = ?2");
        find_ = prepare("SELECT * FROM pawl_run WHERE space = 1 AND run_id = ?1");
        insert_ = prepare(
            "INSERT INTO pawl_run (space, run_id, job_name, partition, lock_key, lock_owner, node, "
            "fence_token, occurrence, at_least_once, run_trigger, status, reason, started_at, "
            "completed_at, last_heartbeat, exit_status, attempt, checkpoint, output_size, "
            "cancel_requested, silence_max, taken_over) VALUES (1, ?1, ?2, 0, 'job/report', "
            "'host:1:2:x', 'node-a', ?3, ?3, 0, 'schedule', 'started', '', ?4, NULL, ?4, NULL, 1, "
            "x'', 0, 0, 60000, 0)");
        newest_event_ = prepare(
            "SELECT number, kind, detail, node, fence_token, attempt FROM pawl_run_event WHERE "
            "place = ?1 ORDER BY number DESC LIMIT 1");
        add_event_ = prepare(
            "INSERT INTO pawl_run_event VALUES (?1, ?2, ?3, 'begun', 'schedule', 'node-a', ?2, 1)");
        beat_ = prepare(
            "UPDATE pawl_run SET last_heartbeat = ?3 WHERE space = 1 AND run_id = ?1 AND "
            "fence_token = ?2 AND status = 'started' RETURNING cancel_requested");
        update_ = prepare(
            "UPDATE pawl_run SET status = 'completed', reason = '', completed_at = ?2, exit_status "
            "= 0, attempt = 1, cancel_requested = 0 WHERE place = ?1");
    }

    void beat(const std::vector<run_ref>& runs) {
        step(begin_);
        const auto at = now();
        for (const auto& each : runs) {
            bind(beat_, 1, each.id);
            sqlite3_bind_int64(beat_.get(), 2, static_cast<std::int64_t>(number(each.token)));
            sqlite3_bind_int64(beat_.get(), 3, at);
            step(beat_);
        }
        step(commit_);
    }

    void run_one(const std::string& job) {
        const auto id = base::fresh_uuid();
        ++token_;
        step(begin_);
        bind(find_occurrence_, 1, job);
        sqlite3_bind_int64(find_occurrence_.get(), 2, token_);
        step(find_occurrence_);
        bind(find_, 1, id);
        step(find_);
        bind(insert_, 1, id);
        bind(insert_, 2, job);
        sqlite3_bind_int64(insert_.get(), 3, token_);
        sqlite3_bind_int64(insert_.get(), 4, now());
        step(insert_);
        const auto place = sqlite3_last_insert_rowid(database_.get());
        add_event(place, 1);
        step(commit_);

        step(begin_);
        bind(find_, 1, id);
        step(find_);
        sqlite3_bind_int64(update_.get(), 1, place);
        sqlite3_bind_int64(update_.get(), 2, now());
        step(update_);
        add_event(place, 2);
        step(commit_);
    }

private:
    using statement = std::unique_ptr<sqlite3_stmt, finalize>;

    static std::int64_t now() { return time::wall_now().time_since_epoch().count() / 1000; }

    statement prepare(const char* text) {
        sqlite3_stmt* raw = nullptr;
        if (sqlite3_prepare_v2(database_.get(), text, -1, &raw, nullptr) != SQLITE_OK)
            throw std::runtime_error{sqlite3_errmsg(database_.get())};
        return statement{raw};
    }
    static void bind(const statement& to, int place, const std::string& text) {
        sqlite3_bind_text(to.get(), place, text.data(), static_cast<int>(text.size()),
                          SQLITE_STATIC);
    }
    void add_event(std::int64_t place, std::int64_t number) {
        sqlite3_bind_int64(newest_event_.get(), 1, place);
        step(newest_event_);
        sqlite3_bind_int64(add_event_.get(), 1, place);
        sqlite3_bind_int64(add_event_.get(), 2, number);
        sqlite3_bind_int64(add_event_.get(), 3, now());
        step(add_event_);
    }
    void step(const statement& what) {
        const int code = sqlite3_step(what.get());
        sqlite3_reset(what.get());
        if (code != SQLITE_DONE && code != SQLITE_ROW)
            throw std::runtime_error{sqlite3_errmsg(database_.get())};
    }

    std::unique_ptr<sqlite3, close_database> database_;
    statement begin_, commit_, find_occurrence_, find_, insert_, newest_event_, add_event_, update_,
        beat_;
    std::int64_t token_ = 1'000'000'000;
};

run_start start_of(const std::string& job, std::int64_t due) {
    run_start start{base::fresh_uuid(), job, "job/report"};
    start.owner = "host:1:2:x";
    start.node = "node-a";
    start.token = fence_token{static_cast<std::uint64_t>(due)};
    start.occurrence = occurrence{due};
    start.trigger = "schedule";
    return start;
}

awaitable<bool> run_one(std::shared_ptr<journal> on, std::string job, std::int64_t due) {
    const auto start = start_of(job, due);
    const auto begun = co_await on->begin(start);
    begun.value();
    run_ref who;
    who.id = start.id;
    who.token = start.token;
    run_end how;
    how.exit_status = 0;
    const auto ended = co_await on->finish(who, how);
    co_return ended.value();
}

struct opened {
    explicit opened(const std::string& path, const char* synchronous) {
        sqlite::sqlite_settings settings;
        settings.durability = std::string{synchronous} == "full" ? sqlite::synchronous::full
                                                                 : sqlite::synchronous::normal;
        settings.common.timeout = millis{20'000};
        runs = sqlite::make_sqlite_journal(loop, path, settings).value();
    }
    net::loop loop;
    std::shared_ptr<journal> runs;
};

void one_caller(const char* synchronous, int rounds) {
    const folder place;
    // Both on the same file, so that both have indexes of the same size.
    opened ours{place.file("pawl.db"), synchronous};
    bare_journal bare{place.file("pawl.db"), synchronous};
    std::int64_t due = 1;
    const auto both = compare(
        rounds, [&] { bare.run_one("bare"); },
        [&] { ours.loop.wait_for(run_one(ours.runs, "ours", ++due)); });
    print_row(std::string{"journal on SQLite, begin + finish of a run, synchronous="} +
                  synchronous + "; bare: the same statements",
              micros_text(both.bare), micros_text(both.ours), both.ours / both.bare, "≤ 1.25",
              both.ours / both.bare <= 1.25);
}

// So many runs one after the other, in a coroutine beside others.
awaitable<bool> many_runs(std::shared_ptr<journal> on, std::string job, int count) {
    for (int i = 1; i <= count; ++i) co_await run_one(on, job, i);
    co_return true;
}

struct crowd {
    explicit crowd(net::loop& where) : all_done{where.get_executor()} {}
    int left = 0;
    net::boot_timer all_done;
};

awaitable<bool> all_at_once(net::loop& where, std::shared_ptr<journal> on, std::string jobs,
                            int coroutines, int count) {
    const auto those = std::make_shared<crowd>(where);
    those->left = coroutines;
    for (int i = 0; i < coroutines; ++i) {
        auto work = many_runs(on, jobs + std::to_string(i), count);
        boost::asio::co_spawn(where.get_executor(), std::move(work),
                              [those](std::exception_ptr, bool) {
                                  if (--those->left == 0) those->all_done.wake();
                              });
    }
    co_await those->all_done.wait();
    co_return true;
}

// The bare side is one thread that cannot do better than one transaction after the other.
void many_callers(const char* synchronous, int each) {
    constexpr int coroutines = 64;
    const folder place;
    opened ours{place.file("pawl.db"), synchronous};
    bare_journal bare{place.file("pawl.db"), synchronous};
    std::vector<double> bare_rates, our_rates;
    for (int round = 0; round < 5; ++round) {
        const auto bare_time = micros_of([&] {
            for (int i = 0; i < coroutines * each / 4; ++i) bare.run_one("bare");
        });
        const auto our_time = micros_of([&] {
            const auto jobs = "job-" + std::to_string(round) + "-";
            ours.loop.wait_for(all_at_once(ours.loop, ours.runs, jobs, coroutines, each));
        });
        bare_rates.push_back(2e6 * coroutines * each / 4 / bare_time);
        our_rates.push_back(2e6 * coroutines * each / our_time);
    }
    const auto bare_rate = median(bare_rates);
    const auto our_rate = median(our_rates);
    const auto text = [](double rate) { return std::to_string(static_cast<int>(rate)) + "/s"; };
    print_row(std::string{"journal on SQLite, writes of 64 concurrent runs, synchronous="} +
                  synchronous + "; bare: one thread, a transaction each",
              text(bare_rate), text(our_rate), our_rate / bare_rate, "≥ 0.8",
              our_rate / bare_rate >= 0.8);
}

awaitable<std::vector<heartbeat_result>> beat_all(std::shared_ptr<journal> on,
                                                  const std::vector<run_ref>& runs) {
    auto answers = co_await on->heartbeat(runs);
    co_return std::move(answers.value());
}

void many_heartbeats() {
    const folder place;
    opened ours{place.file("pawl.db"), "normal"};
    bare_journal bare{place.file("pawl.db"), "normal"};
    std::vector<run_ref> runs;
    for (std::int64_t due = 1; due <= 1000; ++due) {
        const auto start = start_of("report", due);
        ours.loop.wait_for(ours.runs->begin(start)).value();
        runs.push_back({start.id, start.token});
    }
    const auto both = compare(
        200, [&] { bare.beat(runs); }, [&] { ours.loop.wait_for(beat_all(ours.runs, runs)); });
    print_row("journal on SQLite, a heartbeat of 1,000 runs; bare: one transaction",
              micros_text(both.bare), micros_text(both.ours), both.ours / both.bare, "≤ 1.25",
              both.ours / both.bare <= 1.25);
}

// What the file grows by; the bare side would be an empty row.
void room_of_a_run() {
    constexpr int count = 5000;
    const folder place;
    {
        opened ours{place.file("pawl.db"), "normal"};
        for (int due = 1; due <= count; ++due)
            ours.loop.wait_for(run_one(ours.runs, "report", due));
    }
    const auto bytes = std::filesystem::file_size(place.file("pawl.db")) / count;
    print_row("journal on SQLite, room of a run without output on the disk, its indexes included",
              "—", std::to_string(bytes) + " bytes", 1, "≤ 1024", bytes <= 1024);
}

void benchmark_journal() {
    one_caller("full", 1000);
    one_caller("normal", 4000);
    many_callers("full", 20);
    many_callers("normal", 40);
    many_heartbeats();
    room_of_a_run();
}

const benchmark registered{25, "journal-sqlite", benchmark_journal};

}  // namespace
}  // namespace pawl::benchmarks
