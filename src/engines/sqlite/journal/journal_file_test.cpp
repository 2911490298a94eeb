// The file that a journal stands in: what is rejected, what it costs, and who else uses it.
#include "base/identity.hpp"
#include "engines/sqlite/journal/sqlite_journal_fixture.hpp"
#include "engines/sqlite/store/sqlite_store.hpp"

#include "statements_sql.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <regex>
#include <thread>
#include <vector>

namespace pawl::sqlite {
namespace {

using namespace std::chrono_literals;

failure rejection_of(const std::string& path) {
    net::loop loop;
    const auto opened = make_sqlite_journal(loop, path, quick_settings());
    EXPECT_TRUE(opened.has_error()) << path;
    const auto why = opened.has_error() ? opened.error() : failure{};
    EXPECT_EQ(why.detail.find('\n'), std::string::npos) << why.detail;
    EXPECT_NE(why.detail.find(path), std::string::npos) << why.detail;
    return why;
}

TEST(JournalFile, AJournalOfANewerPawlIsUnsupported) {
    const test_folder where;
    {
        test_journal made{where / "pawl.db"};
    }
    raw_database{where / "pawl.db"}.run("UPDATE pawl_journal SET layout = 2");
    const auto why = rejection_of(where / "pawl.db");
    EXPECT_EQ(why.code, errc::unsupported);
    EXPECT_NE(why.detail.find("layout 2"), std::string::npos) << why.detail;
}

// Goal: a store and a journal that write through one connection do not disturb each other, nor does
// one that goes while the other is writing. Method: a store that never rests, and journals that are
// opened, written to and closed beside it; every answer is right, and nothing is left behind.
TEST(JournalFile, AStoreInTheSameFileContinuesWhileJournalsComeAndGo) {
    const test_folder where;
    const auto path = where / "pawl.db";
    net::loop loop;
    const auto store = make_sqlite_store(loop, path, quick_settings()).value();
    std::atomic<bool> over{false};
    std::atomic<int> grants{0}, rejections{0};
    std::jthread leases{[&] {
        while (!over) {
            auto got = loop.wait_for(store->acquire(claim{"key", base::fresh_id(), "me", 30s}));
            const auto* granted = got.has_value() ? std::get_if<grant>(&*got) : nullptr;
            const auto token = granted != nullptr ? granted->token : fence_token{};
            const auto released = loop.wait_for(store->release("key", token, {}));
            const bool freed = released.has_value() && *released;
            ++(freed ? grants : rejections);
        }
    }};
    for (int i = 0; i < 40; ++i) {
        test_journal mine{path};
        const auto start = fresh_run("job", 7);
        EXPECT_EQ(mine.get(mine->begin(start)).outcome, begin_outcome::begun);
        EXPECT_TRUE(mine.get(mine->finish({start.id, start.token}, ended(run_status::completed))));
    }
    over = true;
    leases.join();
    EXPECT_GT(grants.load(), 0);
    EXPECT_EQ(rejections.load(), 0);
    EXPECT_EQ(raw_database{path}.run("SELECT count(*) FROM pawl_run WHERE status = 'completed'"),
              "40");
}

// How many descriptors of this process are of this file.
int times_open(const std::string& path) {
    int times = 0;
    for (const auto& each : std::filesystem::directory_iterator{"/proc/self/fd"}) {
        std::error_code gone;  // the one of this look
        if (std::filesystem::read_symlink(each, gone) == path) ++times;
    }
    return times;
}

// A command under `pawl exec` reads once.
TEST(JournalFile, WhatIsReadFirstNeedsNoConnectionOfItsOwn) {
    const test_folder where;
    const auto path = (std::filesystem::canonical(where.path()) / "pawl.db").string();
    test_journal mine{path};
    const auto start = fresh_run("job", 7);
    ASSERT_EQ(mine.get(mine->begin(start)).outcome, begin_outcome::begun);
    EXPECT_EQ(mine.get(mine->find_run(start.id))->job, "job");
    EXPECT_EQ(times_open(path), 1);
    EXPECT_EQ(mine.get(mine->find_run(start.id))->job, "job");
    EXPECT_EQ(times_open(path), 2);
    EXPECT_TRUE(mine.get(mine->finish({start.id, start.token}, ended(run_status::completed))));
}

TEST(JournalFile, WhatIsNoStoreIsRejected) {
    const test_folder where;
    std::ofstream{where / "pawl.db"} << std::string(5000, 'x');
    EXPECT_EQ(rejection_of(where / "pawl.db").code, errc::protocol);
    EXPECT_EQ(rejection_of(where.path().string()).code, errc::protocol);
    EXPECT_EQ(rejection_of((where.path() / "not/there.db").string()).code, errc::unreachable);
}

TEST(JournalFile, AFileThatMayNotBeWrittenIsDenied) {
    const test_folder where;
    {
        test_journal made{where / "pawl.db"};
    }
    ASSERT_EQ(chmod((where / "pawl.db").c_str(), 0444), 0);
    ASSERT_EQ(chmod(where.path().c_str(), 0555), 0);
    const auto before = geteuid();
    // The superuser may write everything.
    ASSERT_EQ(before == 0 ? seteuid(65534) : 0, 0);
    EXPECT_EQ(rejection_of(where / "pawl.db").code, errc::denied);
    ASSERT_EQ(seteuid(before), 0);
    ASSERT_EQ(chmod(where.path().c_str(), 0755), 0);
}

// Goal: damage is told, not made worse. Method: the pages behind the header are overwritten under
// an open journal, which then says so.
TEST(JournalFile, DamageIsToldInOneLine) {
    const test_folder where;
    {
        test_journal made{where / "pawl.db"};
        for (std::uint64_t i = 1; i < 50; ++i) made.get(made->begin(fresh_run("report", i)));
    }
    const auto size = std::filesystem::file_size(where / "pawl.db");
    std::fstream file{where / "pawl.db", std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(2048 * 2);
    file << std::string(size - 2048 * 2, '\x5a');
    file.close();
    net::loop loop;
    auto opened = make_sqlite_journal(loop, where / "pawl.db", quick_settings());
    const auto why = opened.has_error()
                         ? opened.error()
                         : loop.wait_for((*opened)->begin(fresh_run("report", 9))).error();
    EXPECT_EQ(why.code, errc::protocol) << why.detail;
    EXPECT_NE(why.detail.find(where / "pawl.db"), std::string::npos) << why.detail;
}

TEST(JournalFile, AFileThatStaysLockedIsUnreachableAndNothingHasHappened) {
    const test_folder where;
    auto settings = quick_settings();
    settings.common.timeout = 200ms;
    test_journal mine{where / "pawl.db", settings};
    const auto known = fresh_run("report", 1);
    mine.get(mine->begin(known));
    raw_database other{where / "pawl.db"};
    other.run("BEGIN IMMEDIATE");
    const auto asked = lease_clock::now();
    const auto start = fresh_run("report", 2);
    const auto answer = mine.ask(mine->begin(start));
    ASSERT_TRUE(answer.has_error());
    EXPECT_EQ(answer.error().code, errc::unreachable);
    EXPECT_GE(lease_clock::now() - asked, 190ms);
    EXPECT_TRUE(mine.get(mine->find_run(known.id)));  // what is there can be read all the same
    other.run("ROLLBACK");
    EXPECT_FALSE(mine.get(mine->find_run(start.id)));
    EXPECT_EQ(mine.get(mine->begin(start)).outcome, begin_outcome::begun);
}

TEST(JournalFile, AFileThatWasReplacedIsOpenedAnew) {
    const test_folder where;
    test_journal mine{where / "pawl.db"};
    mine.get(mine->begin(fresh_run("report", 1)));
    for (const std::string suffix : {"", "-wal", "-shm"})
        std::filesystem::remove((where / "pawl.db") + suffix);
    test_journal other{where / "pawl.db"};
    const auto start = fresh_run("report", 2);
    other.get(other->begin(start));
    const auto give_up = lease_clock::now() + 10s;
    while (!mine.get(mine->find_run(start.id)) && lease_clock::now() < give_up)
        std::this_thread::yield();
    EXPECT_EQ(mine.get(mine->list_runs({}, "", 10)).records.size(), 1u);
}

TEST(JournalFile, ManyWhoMakeTheJournalAtOnceMakeOne) {
    const test_folder where;
    {
        std::vector<std::jthread> makers;
        for (std::uint64_t i = 1; i <= 8; ++i)
            makers.emplace_back([&, i] {
                test_journal mine{where / "pawl.db"};
                mine.get(mine->begin(fresh_run("report", i)));
            });
    }
    raw_database other{where / "pawl.db"};
    EXPECT_EQ(other.run("SELECT count(*) FROM pawl_run"), "8");
    EXPECT_EQ(other.run("SELECT count(*) FROM pawl_space"), "1");
}

TEST(JournalFile, LeasesAndRunsShareAFile) {
    const test_folder where;
    net::loop loop;
    const auto store = make_sqlite_store(loop, where / "pawl.db", quick_settings()).value();
    test_journal mine{where / "pawl.db"};
    mine.get(mine->begin(fresh_run("report", 1)));
    loop.wait_for(store->acquire(claim{"job/report", "id", "owner", 30s})).value();
    test_journal again{where / "pawl.db"};
    EXPECT_EQ(again.get(again->list_runs({}, "", 10)).records.size(), 1u);
    EXPECT_TRUE(loop.wait_for(store->inspect("job/report")).value());
}

TEST(JournalFile, TheAuditCannotBeChangedThroughSql) {
    const test_folder where;
    test_journal mine{where / "pawl.db"};
    audit_draft what;
    what.actor = "ada";
    mine.get(mine->append_audit(what));
    raw_database other{where / "pawl.db"};
    for (const auto* attempt : {"DELETE FROM pawl_audit", "UPDATE pawl_audit SET actor = 'bob'"}) {
        std::string fault;
        other.run(attempt, &fault);
        EXPECT_EQ(fault, "the audit is append-only");
    }
    EXPECT_EQ(mine.get(mine->list_audit(0, 10)).size(), 1u);
}

// Goal: one write that cannot be done does not take others with it, though they went in one
// transaction. Method: the database rejects one job's rows; forty runs begin at once.
TEST(JournalFile, AWriteThatFailsInCompanyFailsAlone) {
    const test_folder where;
    test_journal mine{where / "pawl.db"};
    raw_database{where / "pawl.db"}.run(
        "CREATE TRIGGER reject BEFORE INSERT ON pawl_run WHEN NEW.job_name = 'bad' "
        "BEGIN SELECT RAISE(ABORT, 'no'); END");
    std::vector<run_start> starts;
    for (std::uint64_t i = 1; i <= 40; ++i)
        starts.push_back(fresh_run(i == 20 ? "bad" : "good", i));
    std::atomic<int> begun{0};
    std::atomic<int> failed{0};
    {
        std::vector<std::jthread> threads;
        for (const auto& start : starts)
            threads.emplace_back([&] {
                const auto answer = mine.ask(mine->begin(start));
                if (answer.has_value()) {
                    ++begun;
                    return;
                }
                ++failed;
                EXPECT_EQ(start.job, "bad");
                EXPECT_EQ(answer.error().code, errc::protocol);
            });
    }
    EXPECT_EQ(begun, 39);
    EXPECT_EQ(failed, 1);
    EXPECT_EQ(mine.get(mine->list_runs({}, "", 100)).records.size(), 39u);
}

// Goal: the log stays small, though a thread reads all the time. Method: 32 MiB of output go
// through it while another thread lists and reads.
TEST(JournalFile, TheLogStaysBoundedWhileReadersRead) {
    const test_folder where;
    test_journal mine{where / "pawl.db"};
    test_journal reader{where / "pawl.db"};
    const auto start = fresh_run("report", 1);
    mine.get(mine->begin(start));
    std::atomic<bool> over{false};
    std::jthread reading{[&] {
        while (!over) {
            reader.get(reader->list_runs({}, "", 100));
            reader.get(reader->read_output(start.id, 0, output_chunk_bytes_max));
            reader.get(reader->read_control_state());
        }
    }};
    std::uintmax_t largest = 0;
    const std::string chunk(output_chunk_bytes_max, 'x');
    for (std::uint64_t at = 0; at < 32 * 1024 * 1024; at += chunk.size()) {
        EXPECT_TRUE(mine.get(mine->append_output({start.id, start.token}, at, chunk, 1024 * 1024)));
        largest = std::max(largest, std::filesystem::file_size((where / "pawl.db") + "-wal"));
    }
    over = true;
    // Usually 4 MiB. A reader whose thread gets no turn in the middle of its look holds the log for
    // so long.
    EXPECT_LT(largest, 16u * 1024 * 1024);
    EXPECT_LT(std::filesystem::file_size(where / "pawl.db"), 8u * 1024 * 1024);
}

// Every statement, by its name.
std::vector<std::pair<std::string, std::string>> all_statements() {
    std::vector<std::pair<std::string, std::string>> found;
    const std::string all{embedded::statements_sql};
    const std::regex named{"-- name: (\\w+)\n"};
    for (std::sregex_iterator at{all.begin(), all.end(), named}, end; at != end; ++at) {
        const auto begin = static_cast<std::size_t>(at->position() + at->length());
        const auto rest = all.substr(begin);
        found.emplace_back((*at)[1].str(), rest.substr(0, rest.find("\n\n")));
    }
    return found;
}

// Goal: no verb becomes slower with the rows of others. Method: SQLite's own plan of every
// statement searches by an index, and sorts nothing but what a bound keeps small.
TEST(JournalFile, NoStatementScansATable) {
    const test_folder where;
    test_journal mine{where / "pawl.db"};
    raw_database other{where / "pawl.db"};
    const auto statements = all_statements();
    EXPECT_GT(statements.size(), 50u);
    // Sorted: what waits to be pruned by age is cut off at the number to be pruned, nodes at those
    // of one day, triggers at those that may be requested, orphans at those that are.
    const std::vector<std::string> may_sort{"prune_age", "node_list", "trigger_list",
                                            "run_orphans"};
    for (const auto& [name, text] : statements) {
        sqlite3_stmt* plan = nullptr;
        const auto asked = "EXPLAIN QUERY PLAN " + text;
        ASSERT_EQ(sqlite3_prepare_v2(other.handle(), asked.c_str(), -1, &plan, nullptr), SQLITE_OK)
            << name << ": " << sqlite3_errmsg(other.handle());
        while (sqlite3_step(plan) == SQLITE_ROW) {
            const std::string line = reinterpret_cast<const char*>(sqlite3_column_text(plan, 3));
            EXPECT_FALSE(line.starts_with("SCAN ") && line != "SCAN CONSTANT ROW" &&
                         !line.starts_with("SCAN (subquery"))
                << name << ": " << line;
            const bool sorts = line.find("TEMP B-TREE") != std::string::npos;
            EXPECT_FALSE(sorts && std::count(may_sort.begin(), may_sort.end(), name) == 0)
                << name << ": " << line;
        }
        sqlite3_finalize(plan);
    }
}

// The steps of SQLite's machine that a statement took.
int steps_of(raw_database& by, const std::string& text) {
    sqlite3_stmt* running = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(by.handle(), text.c_str(), -1, &running, nullptr), SQLITE_OK)
        << text;
    while (sqlite3_step(running) == SQLITE_ROW) continue;
    const int steps = sqlite3_stmt_status(running, SQLITE_STMTSTATUS_VM_STEP, 0);
    sqlite3_finalize(running);
    return steps;
}

std::string statement_with(const std::string& name, const std::vector<std::string>& values) {
    for (auto [known, text] : all_statements()) {
        if (known != name) continue;
        for (std::size_t i = values.size(); i > 0; --i)
            text = std::regex_replace(text, std::regex{"\\?" + std::to_string(i) + "\\b"},
                                      values[i - 1]);
        return text;
    }
    ADD_FAILURE() << name;
    return {};
}

// Goal: lists and the control state cost what they show. Method: 100,000 runs that are over, ten
// that are not; the steps of SQLite's machine are counted, as they do not depend on the machine's
// load.
TEST(JournalFile, AmongAHundredThousandRunsAPageAndTheControlStateTakeFewSteps) {
    const test_folder where;
    test_journal mine{where / "pawl.db"};
    const auto sample = fresh_run("report", 1);
    mine.get(mine->begin(sample));
    raw_database other{where / "pawl.db"};
    other.run(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) "
        "INSERT INTO pawl_run SELECT NULL, space, 'id-' || i, 'job-' || (i % 50), 0, lock_key, "
        "lock_owner, 'node-' || (i % 5), i, i, i % 2, run_trigger, "
        "CASE WHEN i % 10000 THEN 'completed' ELSE 'started' END, '', i, i, i, 0, 1, x'', 0, 0, "
        "60000, 0 FROM pawl_run, n WHERE run_id = '" +
        sample.id + "'");
    constexpr int few = 5000;
    const std::string newest = "9223372036854775807";
    for (const auto& [name, values] : std::vector<std::pair<std::string, std::vector<std::string>>>{
             {"run_list", {"1", newest, "51"}},
             {"run_list_job", {"1", newest, "51", "'job-7'", "''", "0", "''"}},
             {"run_list_job", {"1", newest, "51", "'job-7'", "'completed'", "0", "''"}},
             {"run_list_node", {"1", newest, "51", "'node-3'", "''"}},
             {"run_list_status", {"1", newest, "51", "'completed'"}},
             {"run_list_status", {"1", newest, "51", "'started'"}},
             {"run_stale", {"1", "999999", "100", "0"}},
             {"run_cancels", {"1", "1000"}},
             {"run_orphans", {"1", "1000"}},
             {"trigger_list", {"1", "1000"}},
             {"prune_age", {"1", "'job-7'", "0", "100"}},
             {"prune_number", {"1", "'job-7'", "5000", "100"}},
             {"run_find", {"1", "'id-77777'"}},
             {"run_find_firing", {"1", "'job-7'", "0", "77757"}}})
        EXPECT_LT(steps_of(other, statement_with(name, values)), few) << name;
    EXPECT_EQ(mine.get(mine->list_runs({}, "", 1000)).records.size(), 1000u);
}

struct busy_journal {
    int writes = 0;
    std::vector<std::chrono::nanoseconds> waits{};  // of the renewals, from the shortest

    std::chrono::milliseconds wait_at(std::size_t percent) const {
        return std::chrono::floor<std::chrono::milliseconds>(waits[waits.size() * percent / 100]);
    }
};

// 64 runs write as fast as they can into the file in which a lease is renewed again and again.
busy_journal renew_beside_writers() {
    const test_folder where;
    net::loop loop;
    const auto store = make_sqlite_store(loop, where / "pawl.db", quick_settings()).value();
    const auto won = loop.wait_for(store->acquire(claim{"key", "id", "owner", 30s})).value();
    held_lease lease;
    lease.key = "key";
    lease.token = std::get<grant>(won).token;
    lease.ttl = 30s;
    test_journal mine{where / "pawl.db"};
    std::atomic<bool> over{false};
    std::atomic<int> writes{0};
    std::vector<std::jthread> writers;
    for (std::uint64_t i = 1; i <= 64; ++i)
        writers.emplace_back([&, i] {
            const auto start = fresh_run("report", i);
            mine.get(mine->begin(start));
            for (int n = 0; !over; ++n) {
                mine.get(mine->add_event({start.id, start.token}, "note", std::to_string(n)));
                ++writes;
            }
        });
    busy_journal seen;
    const auto give_up = lease_clock::now() + 20s;
    while ((seen.waits.size() < 100 || writes < 5000) && lease_clock::now() < give_up) {
        const auto asked = lease_clock::now();
        const std::vector<held_lease> leases{lease};
        const auto answer = loop.wait_for(store->renew(leases)).value();
        EXPECT_EQ(answer.front(), renewal::renewed);
        seen.waits.push_back(lease_clock::now() - asked);
    }
    over = true;
    writers.clear();
    seen.writes = writes;
    std::sort(seen.waits.begin(), seen.waits.end());
    return seen;
}

// Goal: a busy journal does not cost a lease. Method: all renewals succeed, half of them wait for
// no more than a few transactions, and nearly all for less than a lease of one second lasts. Other
// tests write to the same disk and compute beside it, so what is slow must be so each time.
TEST(JournalFile, ABusyJournalDoesNotHoldUpLeases) {
    busy_journal seen;
    const auto is_quick = [&] {
        return seen.writes >= 5000 && seen.wait_at(50) < 100ms && seen.wait_at(95) < 1s;
    };
    for (int turn = 0; turn < 3 && !is_quick(); ++turn) seen = renew_beside_writers();
    RecordProperty("renewals", static_cast<int>(seen.waits.size()));
    RecordProperty("median_ms", static_cast<int>(seen.wait_at(50).count()));
    RecordProperty("nearly_all_ms", static_cast<int>(seen.wait_at(95).count()));
    EXPECT_GE(seen.writes, 5000);
    EXPECT_LT(seen.wait_at(50), 100ms);
    EXPECT_LT(seen.wait_at(95), 1s);
}

}  // namespace
}  // namespace pawl::sqlite
