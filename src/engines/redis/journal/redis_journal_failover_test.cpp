// The journal in a Redis Cluster and behind sentinels: what moves, and what a failover does.
#include "engines/redis/client/slots.hpp"
#include "engines/redis/journal/redis_journal_fixture.hpp"
#include "test_support/servers/redis_cluster.hpp"
#include "test_support/servers/redis_sentinels.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace pawl::redis {
namespace {

using conformance::ended;

// Begins and finishes runs until stop(); keeps how many.
class journal_load {
public:
    journal_load(journal_client& mine, int callers) : mine_{mine} {
        for (int caller = 0; caller < callers; ++caller)
            threads_.emplace_back([this, caller] { work("job/" + std::to_string(caller)); });
    }
    ~journal_load() { stop(); }

    void stop() {
        stopped_ = true;
        for (auto& thread : threads_) thread.join();
        threads_.clear();
    }
    int written() const { return written_; }
    void until_more(int runs) const {
        const auto before = written();
        until([&] { return written() >= before + runs; });
    }

private:
    void work(const std::string& job) {
        for (std::int64_t due = 1; !stopped_; ++due) {
            const auto run = fresh_occurrence_run(job, due, 1);
            const auto who = mark_of(run);
            const auto got = insist([&] { return mine_.ask(mine_->begin(run)); });
            if (got.has_error()) return;
            EXPECT_EQ(got->outcome, begin_outcome::begun);
            const auto end = ended(run_status::failed, "as planned");
            EXPECT_TRUE(*insist([&] { return mine_.ask(mine_->finish(who, end)); }));
            ++written_;
        }
    }

    journal_client& mine_;
    std::atomic<bool> stopped_{false};
    std::atomic<int> written_{0};
    std::vector<std::thread> threads_;
};

void expect_all_whole(journal_client& mine, int written) {
    run_filter failed;
    failed.status = run_status::failed;
    EXPECT_EQ(mine.all(failed, 100).size(), static_cast<std::size_t>(written));
    const auto runs = mine.all({}, 100);
    EXPECT_EQ(runs.size(), static_cast<std::size_t>(written));
    for (const auto& run : runs) {
        EXPECT_EQ(mine.kinds_of_events(run.id), (std::vector<std::string>{"begun", "failed"}));
        const auto found = mine.get(mine->find_occurrence(run.job, 0, *run.occurrence));
        ASSERT_TRUE(found);
        EXPECT_EQ(found->id, run.id);
    }
}

// Goal: no script sees half of a journal. Method: its slot goes to and fro under load, with some of
// its names on each side for a while.
TEST(RedisJournalCluster, ASlotThatMovesUnderLoadLosesAndDoublesNothing) {
    testing_servers::redis_cluster cluster{{.node_timeout = 15s}};
    redis_settings settings;
    settings.shape = topology::cluster;
    settings.common.timeout = 20s;
    for (std::size_t i = 0; i < cluster.size(); ++i)
        settings.seeds.push_back({"127.0.0.1", cluster.node(i).port()});
    auto mine = open(settings);
    const auto slot = shard_slot(shard_of_key("pawl:journal"));
    journal_load load{mine, 8};
    load.until_more(50);
    for (int round = 0; round < 6; ++round) {
        const auto from = cluster.owner_of(slot), to = (from + 1) % 3;
        cluster.begin_move(slot, from, to);
        // Halfway: no client is let in, on either side.
        auto hasty_settings = settings;
        hasty_settings.common.timeout = 50ms;
        auto hasty = open(hasty_settings);
        // On a busy machine the time may be up while an answer is on its way.
        auto why = hasty.rejection(hasty->begin(fresh_run("hasty", 1)));
        for (int again = 0; again < 100 && why.code == errc::outcome_unknown; ++again)
            why = hasty.rejection(hasty->begin(fresh_run("hasty", 1)));
        EXPECT_EQ(name_of(why.code), "unreachable") << why.detail;
        cluster.finish_move(slot, from, to);
        load.until_more(50);
    }
    load.stop();
    expect_all_whole(mine, load.written());
}

// Goal: what a replica has confirmed outlives its master. Method: wait=1, and the master is killed
// under load.
TEST(RedisJournalSentinel, WhatWasConfirmedOutlivesItsMaster) {
    // The master is not to be given up before it is killed.
    testing_servers::redis_sentinels servers{{.down_after = 6s}};
    servers.wait_until_ready();
    redis_settings settings;
    settings.shape = topology::sentinel;
    settings.master_name = testing_servers::redis_sentinels::master_name;
    settings.common.timeout = 20s;
    settings.replicas = 1;
    for (const auto port : servers.ports()) settings.seeds.push_back({"127.0.0.1", port});
    auto mine = open(settings);
    std::vector<run_start> confirmed;
    for (int due = 1; due <= 50; ++due) {
        confirmed.push_back(fresh_occurrence_run("job", due, 1));
        mine.begin(confirmed.back());
        const auto end = ended(run_status::failed, "as planned");
        EXPECT_TRUE(mine.get(mine->finish(mark_of(confirmed.back()), end)));
    }
    const auto old = servers.master();
    servers.node(old).crash();
    servers.wait_until_moved_from(old);
    settings.replicas = 0;
    auto after = open(settings);
    insist([&] { return after.ask(after->find_run("warm")); });
    expect_all_whole(after, 50);
    const auto again = fresh_occurrence_run("job", 50, 2);
    after.begin(again, begin_outcome::already_run);
}

}  // namespace
}  // namespace pawl::redis
