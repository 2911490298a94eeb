// The classic table of exclusive jobs: the statements of programs that know nothing of pawl, beside
// clients of pawl, on one key.
#include "engines/postgresql/store/postgresql_fixture.hpp"
#include "exclusive_job_sql.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace pawl::postgresql {
namespace {

constexpr auto* one = "00000000-0000-4000-8000-000000000001";
constexpr auto* other = "00000000-0000-4000-8000-000000000002";

// A server whose administrator has run the script.
class classic_table : public postgresql_server {
public:
    classic_table() : mine{open(on_port(port(), 10s))} {
        mine.granted(fresh_claim("first"));
        ask(std::string{embedded::exclusive_job_sql});
    }

    // Each says how many rows it changed, as the programs are told.
    int try_acquire(const std::string& job, const std::string& instance,
                    const std::string& lasts = "1 minute") const {
        return changed(
            "INSERT INTO exclusive_job AS ej (job_id, job_instance_id, lock_expires_at) VALUES ('" +
            job + "', '" + instance + "', clock_timestamp() + interval '" + lasts +
            "') ON CONFLICT (job_id) DO UPDATE SET job_instance_id = excluded.job_instance_id, "
            "lock_expires_at = excluded.lock_expires_at WHERE ej.lock_expires_at < now() OR "
            "(ej.job_id = excluded.job_id AND ej.job_instance_id = excluded.job_instance_id) "
            "RETURNING 1");
    }
    int update_lock(const std::string& job, const std::string& instance,
                    const std::string& lasts) const {
        return changed("UPDATE exclusive_job SET lock_expires_at = clock_timestamp() + interval '" +
                       lasts + "' WHERE job_id = '" + job + "' AND job_instance_id = '" + instance +
                       "' RETURNING 1");
    }
    int release_lock(const std::string& job, const std::string& instance) const {
        return changed("DELETE FROM exclusive_job WHERE job_id = '" + job +
                       "' AND job_instance_id = '" + instance + "' RETURNING 1");
    }
    fence_token token_of(const std::string& job) const {
        return fence_token{
            std::stoull(ask("SELECT fence_token FROM exclusive_job WHERE job_id = '" + job + "'"))};
    }

    // What the script has as max_skew when a lock is taken.
    void bound_skew_by(const std::string& interval) const {
        ask("DROP TRIGGER take ON exclusive_job; CREATE TRIGGER take BEFORE INSERT ON "
            "exclusive_job FOR EACH ROW EXECUTE FUNCTION pawl.take_exclusive_job('pawl', '" +
            interval + "')");
    }

    client mine;

private:
    int changed(const std::string& statement) const {
        return std::stoi(ask("WITH it AS (" + statement + ") SELECT count(*) FROM it"));
    }
};

TEST(ExclusiveJob, ItsStatementsMeanWhatTheyMeant) {
    const classic_table table;
    EXPECT_EQ(table.try_acquire("report", one), 1);
    const auto first = table.token_of("report");
    EXPECT_EQ(table.try_acquire("report", other), 0);
    EXPECT_EQ(table.update_lock("report", other, "2 minutes"), 0);
    EXPECT_EQ(table.release_lock("report", other), 0);
    // The same instance may take it again, and keeps its token.
    EXPECT_EQ(table.try_acquire("report", one, "2 minutes"), 1);
    EXPECT_EQ(table.update_lock("report", one, "3 minutes"), 1);
    EXPECT_EQ(table.token_of("report"), first);
    EXPECT_EQ(table.release_lock("report", one), 1);
    EXPECT_EQ(table.try_acquire("report", other), 1);
    EXPECT_GT(table.token_of("report"), first);
}

// Goal: a lock that has run out passes on, and is lost for its instance. Method: no bound on skew.
TEST(ExclusiveJob, ALockThatHasExpiredIsTakenOver) {
    const classic_table table;
    table.bound_skew_by("0");
    EXPECT_EQ(table.try_acquire("report", one, "0.3 seconds"), 1);
    until([&] { return table.try_acquire("report", other) == 1; });
    EXPECT_EQ(table.update_lock("report", one, "1 minute"), 0);
    EXPECT_EQ(table.release_lock("report", one), 0);
    EXPECT_EQ(table.try_acquire("report", other), 1);
}

// Goal: a program whose clock is behind by less than the bound is not overtaken, and a lock that
// no other program took can still be extended.
TEST(ExclusiveJob, ALeaseOutlivesItsLockByTheBoundOnSkew) {
    const classic_table table;
    table.bound_skew_by("10 minutes");
    EXPECT_EQ(table.try_acquire("report", one, "1 millisecond"), 1);
    until([&] { return table.ask("SELECT lock_expires_at < now() FROM exclusive_job") == "t"; });
    EXPECT_EQ(table.try_acquire("report", other), 0);
    EXPECT_EQ(table.update_lock("report", one, "1 minute"), 1);
}

// Programs of this kind delete what has expired before they insert.
TEST(ExclusiveJob, ALeaseOutlivesTheRowOfALockThatHasExpired) {
    const classic_table table;
    table.bound_skew_by("10 minutes");
    EXPECT_EQ(table.try_acquire("report", one, "1 millisecond"), 1);
    until([&] { return table.ask("SELECT lock_expires_at < now() FROM exclusive_job") == "t"; });
    table.ask("DELETE FROM exclusive_job WHERE lock_expires_at < now()");
    EXPECT_EQ(table.ask("SELECT count(*) FROM exclusive_job"), "0");
    EXPECT_EQ(table.try_acquire("report", other), 0);
}

TEST(ExclusiveJob, ProgramsAndClientsOfPawlExcludeEachOther) {
    classic_table table;
    EXPECT_EQ(table.try_acquire("report", one), 1);
    const auto first = table.token_of("report");
    EXPECT_EQ(table.mine.rejected(fresh_claim("report")).holder, first);
    EXPECT_EQ(table.release_lock("report", one), 1);
    const auto token = table.mine.granted(fresh_claim("report", 60s));
    EXPECT_GT(token, first);
    EXPECT_EQ(table.try_acquire("report", one), 0);
    EXPECT_TRUE(yes(table.mine.release("report", token)));
    EXPECT_EQ(table.try_acquire("report", one), 1);
    EXPECT_GT(table.token_of("report"), token);
}

// Goal: what an administrator takes away is gone for the program, and free for others though the
// row still names a time ahead.
TEST(ExclusiveJob, AForcedReleaseIsObeyed) {
    classic_table table;
    EXPECT_EQ(table.try_acquire("report", one), 1);
    EXPECT_TRUE(yes(table.mine.force_release("report", table.token_of("report"), 0ms)));
    EXPECT_EQ(table.update_lock("report", one, "5 minutes"), 0);
    EXPECT_EQ(table.try_acquire("report", other), 1);
    EXPECT_EQ(table.update_lock("report", one, "5 minutes"), 0);
    EXPECT_EQ(table.release_lock("report", one), 0);
    EXPECT_EQ(table.try_acquire("report", other), 1);
}

// Goal: pawl's bound on waits for locks is none of the program's. Method: another session keeps the
// row of the lease for longer than that, and what is in force behind each statement is asked for.
TEST(ExclusiveJob, AProgramsWaitsForLocksAreItsOwn) {
    const classic_table table;
    EXPECT_EQ(table.try_acquire("report", one), 1);
    for (const std::string bound : {"0", "7s"}) {
        const auto behind = [&](const std::string& statement) {
            return table.ask("BEGIN; SET LOCAL lock_timeout = '" + bound + "'; " + statement +
                             "; SHOW lock_timeout");
        };
        EXPECT_EQ(behind("INSERT INTO exclusive_job VALUES ('other', '" + std::string{one} +
                         "', now() + interval '1 minute')"),
                  bound);
        EXPECT_EQ(behind("DELETE FROM exclusive_job WHERE job_id = 'report'"), bound);
    }
    auto others = lock_rows(table);
    auto ended = std::async(std::launch::async, [&] { return table.release_lock("report", one); });
    until([&] {
        return table.ask(
                   "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                   "clock_timestamp() - query_start > interval '2 seconds'") == "1";
    });
    others.reset();
    EXPECT_EQ(ended.get(), 1);
}

TEST(ExclusiveJob, WhatIsWrongIsRejectedInOneLine) {
    const classic_table table;
    const auto rejects = [&](const std::string& values, const std::string& words) {
        try {
            table.ask("INSERT INTO exclusive_job VALUES (" + values + ")");
            ADD_FAILURE() << values;
        } catch (const std::exception& error) {
            EXPECT_NE(std::string{error.what()}.find(words), std::string::npos) << error.what();
        }
    };
    const std::string instance = "'" + std::string{one} + "'";
    rejects("'', " + instance + ", now() + interval '1 minute'", "exclusive_job_job_id_check");
    rejects("repeat('ü', 256), " + instance + ", now() + interval '1 minute'",
            "exclusive_job_job_id_check");
    rejects("'a', NULL, now() + interval '1 minute'", "job_instance_id");
    rejects("'a', " + instance + ", NULL", "lock_expires_at");
    rejects("'a', " + instance + ", now() - interval '1 minute'", "expected a time ahead");
    EXPECT_EQ(table.try_acquire(std::string(255, 'x'), one), 1);
}

// Goal: however they mix, one at a time is inside. Method: programs and clients of pawl contend,
// and a witness counts them.
TEST(ExclusiveJob, ProgramsAndClientsContendWithoutAnOverlap) {
    classic_table table;
    std::atomic<int> inside{0}, overlaps{0}, by_programs{0}, by_clients{0};
    std::atomic<std::uint64_t> newest{0};
    const auto work = [&](fence_token token) {
        if (++inside > 1) ++overlaps;
        EXPECT_GT(number(token), newest.exchange(number(token)));
        std::this_thread::yield();
        --inside;
    };
    std::atomic<bool> enough{false};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&, i] {
            const auto instance = "00000000-0000-4000-8000-00000000001" + std::to_string(i);
            while (!enough) {
                if (table.try_acquire("report", instance) == 0) continue;
                work(table.token_of("report"));
                ++by_programs;
                EXPECT_EQ(table.release_lock("report", instance), 1);
            }
        });
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            auto client = open(on_port(table.port(), 10s));
            while (!enough) {
                const auto got = client.acquire(fresh_claim("report", 60s));
                if (got.has_error() || !std::holds_alternative<grant>(*got)) continue;
                work(std::get<grant>(*got).token);
                ++by_clients;
                EXPECT_TRUE(yes(client.release("report", std::get<grant>(*got).token)));
            }
        });
    until([&] { return by_programs >= 10 && by_clients >= 10; }, 60s);
    enough = true;
    threads.clear();
    EXPECT_EQ(overlaps, 0);
}

}  // namespace
}  // namespace pawl::postgresql
