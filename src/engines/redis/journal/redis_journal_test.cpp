// What only the journal in Redis has: its layout, its user, and the ways in which a server rejects.
// What every journal must do is in test_support/conformance/journal.
#include "engines/redis/journal/redis_journal_fixture.hpp"
#include "test_support/faults/tcp_proxy.hpp"

#include <algorithm>
#include <thread>

namespace pawl::redis {
namespace {

using namespace conformance;
using testing_faults::direction;
using testing_faults::tcp_proxy;

// Every verb once or more; all of them must succeed.
void use_every_verb(journal_client& mine) {
    const auto run = fresh_occurrence_run("nightly", 1000, 1, delivery::at_least_once);
    auto end = ended(run_status::abandoned, "gone", 3);
    mine.begin(run);
    EXPECT_EQ(mine.get(mine->heartbeat(std::vector<run_ref>{mark_of(run)})),
              std::vector<heartbeat_result>{heartbeat_result::alive});
    EXPECT_TRUE(mine.get(mine->checkpoint(mark_of(run), "half")));
    for (const std::uint64_t offset : {0, 5, 20'000})
        EXPECT_TRUE(mine.get(mine->append_output(mark_of(run), offset, "hello", 12)));
    EXPECT_TRUE(mine.get(mine->add_event(mark_of(run), "note", "text")));
    for (int i = 0; i < 300; ++i) {
        const auto text = std::to_string(i);
        EXPECT_TRUE(mine.get(mine->add_event(mark_of(run), "note", text)));
    }
    EXPECT_TRUE(mine.get(mine->next_attempt(mark_of(run), conformance::failed_attempt(1, "no"))));
    EXPECT_TRUE(mine.get(mine->finish(mark_of(run), end)));
    EXPECT_EQ(mine.get(mine->read_control_state()).orphans.size(), 1u);
    auto again = fresh_occurrence_run("nightly", 1000, 2, delivery::at_least_once);
    mine.begin(again, begin_outcome::resumed);
    again.id = run.id;
    EXPECT_TRUE(mine.get(mine->request_cancel(run.id, "me")));
    EXPECT_EQ(mine.get(mine->read_control_state()).cancels.size(), 1u);
    end.status = run_status::completed;
    EXPECT_FALSE(mine.get(mine->end_stale(mark_of(again), end)));
    EXPECT_TRUE(mine.get(mine->finish(mark_of(again), end)));
    auto skipped = fresh_occurrence_run("nightly", 2000, 3);
    EXPECT_TRUE(mine.get(mine->skip(skipped, "late")));
    skipped.token = fence_token{4};
    mine.begin(skipped);
    EXPECT_TRUE(mine.get(mine->finish(mark_of(skipped), end)));
    EXPECT_TRUE(mine.get(mine->find_occurrence("nightly", 0, occurrence{2000})));
    EXPECT_EQ(mine.all({}, 1).size(), 2u);
    EXPECT_EQ(mine.get(mine->history(run.id)).size(), run_events_max);
    EXPECT_EQ(mine.get(mine->read_output(run.id, 0, 100))->bytes, "hello");
    EXPECT_TRUE(mine.get(mine->stale_runs(10, 0)).empty());

    auto trigger = conformance::trigger_for("nightly");
    EXPECT_TRUE(mine.get(mine->add_trigger(trigger)));
    EXPECT_TRUE(mine.get(mine->remove_trigger(trigger.id)));
    EXPECT_TRUE(mine.get(mine->add_trigger(trigger)));
    run_start asked{trigger.id, "nightly", "job/nightly/0"};
    asked.consumes_trigger = true;
    asked.starts_from = checkpoint_source::last_saved;
    EXPECT_EQ(mine.begin(asked).checkpoint, "half");
    EXPECT_TRUE(mine.get(mine->pause_job("nightly", "broken", "me")));
    EXPECT_EQ(mine.get(mine->read_control_state()).pauses.size(), 1u);
    EXPECT_TRUE(mine.get(mine->resume_job("nightly")));
    EXPECT_EQ(mine.get(mine->prune("nightly", 0, 0ms, 10)), 2u);

    std::vector<job_entry> jobs{conformance::entry_for("nightly", "@daily", "node")};
    EXPECT_GT(mine.get(mine->publish(jobs)).front().since, 0);
    EXPECT_EQ(mine.get(mine->list_jobs("", 10)).size(), 1u);
    EXPECT_TRUE(mine.get(mine->find_job("nightly")));
    const std::vector<std::string> names{"nightly"};
    EXPECT_EQ(mine.get(mine->retire(names, "node")), 1u);
    mine.done(mine->node_heartbeat(conformance::node_named("id", "node")));
    EXPECT_EQ(mine.get(mine->list_nodes()).size(), 1u);
    mine.done(mine->node_leave("id"));
    EXPECT_EQ(mine.get(mine->append_audit(conformance::draft_of("me", "nightly"))).sequence, 1u);
    EXPECT_EQ(mine.whole_audit(10).size(), 1u);
}

// Goal: the runs of a node are found however many there are of others. Method: so many stand before
// one of them that a look at all takes longer than the timeout.
TEST(RedisJournal, ARunOfANodeIsFoundBehindManyOfAnother) {
    redis_server server;
    auto patient = open(on_port(server.port()));
    auto wanted = fresh_run("job", 1), other = fresh_run("job", 2);
    wanted.node = "b";
    other.node = "a";
    patient.begin(wanted);
    patient.begin(other);
    server.ask({"EVAL",
                "local row = redis.call('HGETALL', ARGV[1] .. ARGV[2]) "
                "for i = 3, 60000 do "
                "redis.call('HSET', ARGV[1] .. 'more' .. i, unpack(row)) "
                "redis.call('ZADD', 'pawl:journal:runs', i, 'more' .. i) end",
                "0", "pawl:journal:run:", other.id});
    auto mine = open(on_port(server.port(), 50ms));
    run_filter which;
    which.node = "b";
    std::vector<std::string> found;
    std::string after;
    do {
        const auto page = insist([&] { return mine.ask(mine->list_runs(which, after, 10)); });
        ASSERT_TRUE(page.has_value());
        for (const auto& run : page->records) found.push_back(run.id);
        after = page->next;
    } while (!after.empty());
    EXPECT_EQ(found, std::vector{wanted.id});
}

// ---- Scripts, layout, user

TEST(RedisJournal, ScriptsThatTheServerForgotAreSentAgain) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    const auto run = fresh_run("job", 1);
    mine.begin(run);
    server.ask({"SCRIPT", "FLUSH"});
    mine.begin(run);
    server.ask({"SCRIPT", "FLUSH"});
    EXPECT_TRUE(mine.get(mine->finish(mark_of(run), ended(run_status::completed))));
}

// The layout is documented: people read it with redis-cli when all else fails.
TEST(RedisJournal, ARunIsAHashThatPeopleCanRead) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    auto run = fresh_occurrence_run("invoices", 1795184280000, 17);
    run.owner = "me on host";
    mine.begin(run);
    const auto key = "pawl:journal:run:" + run.id;
    EXPECT_EQ(server.ask({"HGET", key, "job"}), "invoices");
    EXPECT_EQ(server.ask({"HGET", key, "owner"}), "me on host");
    EXPECT_EQ(server.ask({"HGET", key, "token"}), "17");
    EXPECT_EQ(server.ask({"HGET", key, "status"}), "started");
    EXPECT_EQ(server.ask({"HGET", "pawl:journal:firings:invoices", "0:1795184280000"}), run.id);
    EXPECT_EQ(server.ask({"ZRANGE", "pawl:journal:runs", "0", "-1"}), run.id);
    EXPECT_EQ(server.ask({"ZRANGE", "pawl:journal:job:invoices", "0", "-1"}), run.id);
    EXPECT_EQ(server.ask({"ZRANGE", "pawl:journal:status:started", "0", "-1"}), run.id);
    EXPECT_EQ(server.ask({"ZRANGE", "pawl:journal:beats", "0", "-1"}), run.id);
    EXPECT_TRUE(mine.get(mine->finish(mark_of(run), ended(run_status::failed, "no", 1))));
    EXPECT_EQ(server.ask({"HGET", key, "status"}), "failed");
    EXPECT_EQ(server.ask({"HGET", key, "exit"}), "1");
    EXPECT_EQ(server.ask({"ZRANGE", "pawl:journal:status:failed", "0", "-1"}), run.id);
    EXPECT_EQ(server.ask({"EXISTS", "pawl:journal:beats", "pawl:journal:status:started"}), "0");
    EXPECT_EQ(server.ask({"LLEN", "pawl:journal:events:" + run.id}), "2");
}

// The user of docs/stores/redis.md.
const std::string documented_user =
    "locker on >s3cret resetkeys ~pawl:* resetchannels &pawl:changed:* -@all +hello +select +eval "
    "+evalsha +time +get +mget +set +setrange +zadd +zrangebylex +zrem +publish +subscribe "
    "+unsubscribe +pubsub|numsub +info +config|get +acl|whoami +wait +exists +incr +unlink +hget "
    "+hset +hsetnx +hmget +hgetall +hdel +hexists +zcard +zscore +zrange +zrangebyscore "
    "+zrevrangebyscore +sadd +srem +scard +rpush +lpush +lpop +lindex +llen "
    "+lrange";

redis_settings as_locker(const redis_server& server) {
    auto settings = on_port(server.port());
    settings.user = "locker";
    settings.password = "s3cret";
    return settings;
}

// Goal: the documentation names enough privileges. Method: every verb, as that user.
TEST(RedisJournal, TheDocumentedUserMayDoEverything) {
    redis_options options;
    options.users = {documented_user};
    redis_server server{options};
    auto mine = open(as_locker(server));
    use_every_verb(mine);
}

// Goal: a script that is stopped in the middle decides nothing. Method: each privilege that begin
// needs is missing once, and the same run is begun when it is there again.
TEST(RedisJournal, AMissingPrivilegeIsDeniedAndNoHalfMadeRunStays) {
    redis_options options;
    options.users = {documented_user};
    redis_server server{options};
    auto mine = open(as_locker(server));
    std::int64_t due = 0;
    for (const std::string missing :
         {"hget", "exists", "incr", "zadd", "sadd", "lindex", "rpush", "hset"}) {
        const auto run = fresh_occurrence_run("job", ++due, 1);
        server.ask({"ACL", "SETUSER", "locker", "-" + missing});
        const auto why = mine.rejection(mine->begin(run));
        expect_detail(why, errc::denied, "docs/stores/redis.md");
        server.ask({"ACL", "SETUSER", "locker", "+" + missing});
        EXPECT_FALSE(mine.get(mine->find_run(run.id))) << missing;
        EXPECT_FALSE(mine.get(mine->find_occurrence("job", 0, *run.occurrence))) << missing;
        const auto other = fresh_occurrence_run("job", due, 2);
        mine.begin(other);
        EXPECT_EQ(mine.show(other.id).status, run_status::started);
        EXPECT_TRUE(mine.get(mine->finish(mark_of(other), ended(run_status::completed))));
    }
    EXPECT_EQ(mine.all({}, 3).size(), static_cast<std::size_t>(due));
}

// ---- Servers that reject

TEST(RedisJournal, WhatAnotherProgramWroteIsRejected) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    const auto run = fresh_run("job", 1);
    const auto key = "pawl:journal:run:" + run.id;
    server.ask({"SET", key, "not ours"});
    expect_detail(mine.rejection(mine->begin(run)), errc::rejected, "choose namespace=");
    expect_detail(mine.rejection(mine->find_run(run.id)), errc::rejected, "choose namespace=");
    server.ask({"DEL", key});
    server.ask({"HSET", key, "colour", "blue"});
    expect_detail(mine.rejection(mine->find_run(run.id)), errc::rejected, "choose namespace=");
    server.ask({"DEL", key});
    server.ask({"SET", "pawl:journal:status:started", "not ours"});
    expect_detail(mine.rejection(mine->begin(run)), errc::rejected, "WRONGTYPE");
    EXPECT_FALSE(mine.get(mine->find_run(run.id)));
    server.ask({"DEL", "pawl:journal:status:started"});
    server.ask({"RPUSH", "pawl:journal:audit", "not ours"});
    const auto draft = conformance::draft_of("me", "job");
    expect_detail(mine.rejection(mine->append_audit(draft)), errc::rejected, "the audit");
    mine.begin(run);
}

// Goal: an entry that cannot be read stops nothing but itself. Method: one of each kind stands
// beside a good one.
TEST(RedisJournal, WhatAnotherProgramWroteKeepsNothingElseAway) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    const std::string base = "pawl:journal:";
    const auto foreign = [&](const std::string& index, const std::string& place,
                             const std::string& name) {
        server.ask({"ZADD", base + index, place, name});
    };
    auto lost = fresh_occurrence_run("job", 1000, 1, delivery::at_least_once);
    mine.begin(lost);
    ASSERT_TRUE(mine.get(mine->finish(mark_of(lost), ended(run_status::abandoned))));
    auto silent = fresh_run("job", 2);
    silent.heartbeat_timeout = 1ms;
    mine.begin(silent);
    for (const auto* index : {"runs", "job:job", "status:abandoned", "beats"})
        foreign(index, "0.5", "foreign");
    server.ask({"HSET", base + "run:foreign", "job", "job", "mode", "at_least_once", "token", "x"});
    EXPECT_TRUE(mine.get(mine->pause_job("job", "full", "me")));
    foreign("pauses", "0", "other");
    server.ask({"HSET", base + "pause_texts", "other", "not ours"});
    const auto trigger = conformance::trigger_for("job");
    EXPECT_TRUE(mine.get(mine->add_trigger(trigger)));
    foreign("triggers", "0", "foreign");
    server.ask({"HSET", base + "trigger_texts", "foreign", "not ours"});
    EXPECT_EQ(mine.get(mine->publish({conformance::entry_for("job", "@daily", "node")})).size(),
              1U);
    foreign("entries", "0", "another");
    server.ask({"HSET", base + "entry:another", "colour", "blue"});
    mine.done(mine->node_heartbeat(conformance::node_named("id", "node")));
    foreign("nodes", "99999999999999", "foreign");
    server.ask({"HSET", base + "node:foreign", "colour", "blue"});

    const auto state = mine.get(mine->read_control_state());
    ASSERT_EQ(state.pauses.size(), 2U);
    EXPECT_EQ(state.pauses[0].job, "job");
    EXPECT_EQ(state.pauses[1].reason, "(unreadable) no journal wrote it");
    EXPECT_EQ(state.pauses[1].job, "other");
    ASSERT_EQ(state.triggers.size(), 1U);
    EXPECT_EQ(state.triggers[0].id, trigger.id);
    ASSERT_EQ(state.orphans.size(), 1U);
    EXPECT_EQ(state.orphans[0].id, lost.id);
    EXPECT_EQ(mine.all({}, 1).size(), 2U);
    mine.until_stale(silent.id);
    const auto stale = mine.get(mine->stale_runs(10, 0));
    ASSERT_EQ(stale.size(), 1U);
    EXPECT_EQ(stale[0].id, silent.id);
    const auto jobs = mine.get(mine->list_jobs("", 10));
    ASSERT_EQ(jobs.size(), 1U);
    EXPECT_EQ(jobs[0].name, "job");
    const auto nodes = mine.get(mine->list_nodes());
    ASSERT_EQ(nodes.size(), 2U);
    EXPECT_EQ(nodes[0].name, "(unreadable)");
    EXPECT_EQ(nodes[1].name, "node");
    EXPECT_TRUE(mine.get(mine->resume_job("other")));
    EXPECT_EQ(mine.get(mine->read_control_state()).pauses.size(), 1U);
}

// Goal: runs that cannot be read hide no stale one from who looks at them page by page. Method:
// three in front of five, a page of which is as long.
TEST(RedisJournal, PagesOfStaleRunsCountThoseThatCanBeRead) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    const std::string base = "pawl:journal:";
    for (const auto* id : {"x", "y", "z"}) {
        server.ask({"ZADD", base + "beats", "0.5", id});
        server.ask({"HSET", base + "run:" + id, "job", "job", "token", "not ours"});
    }
    std::vector<std::string> begun, seen;
    for (std::uint64_t token = 1; token <= 5; ++token) {
        auto start = fresh_run("job", token);
        start.heartbeat_timeout = 1ms;
        mine.begin(start);
        EXPECT_TRUE(mine.get(mine->checkpoint(mark_of(start), "half")));
        begun.push_back(start.id);
    }
    for (const auto& id : begun) mine.until_stale(id);
    for (std::size_t skip = 0; skip <= 6; skip += 3)
        for (const auto& one : mine.get(mine->stale_runs(3, skip))) {
            seen.push_back(one.id);
            EXPECT_EQ(one.checkpoint, "half");
        }
    std::sort(begun.begin(), begun.end());
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, begun);
}

// Goal: a run that begins or ends in the middle of a failover keeps its row: what records it tries
// again what is unreachable. Method: a master whose replicas are missing for a while.
TEST(RedisJournal, AMasterWithoutItsReplicasWritesNothingForNow) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    const auto run = fresh_occurrence_run("job", 1, 1);
    const auto end = ended(run_status::failed, "as planned");
    const auto rejected = [&](const failure& why) {
        expect_detail(why, errc::unreachable, "NOREPLICAS");
        EXPECT_FALSE(is_outage(why));
    };
    server.ask({"CONFIG", "SET", "min-replicas-to-write", "1"});
    rejected(mine.rejection(mine->begin(run)));
    server.ask({"CONFIG", "SET", "min-replicas-to-write", "0"});
    mine.begin(run);
    server.ask({"CONFIG", "SET", "min-replicas-to-write", "1"});
    rejected(mine.rejection(mine->finish(mark_of(run), end)));
    server.ask({"CONFIG", "SET", "min-replicas-to-write", "0"});
    EXPECT_TRUE(mine.get(mine->finish(mark_of(run), end)));
    EXPECT_EQ(mine.kinds_of_events(run.id), (std::vector<std::string>{"begun", "failed"}));
}

// Goal: a full Redis rejects, and changes nothing. Method: every verb that writes, on a full one.
TEST(RedisJournal, AFullRedisRejectsForNowAndNothingIsHalfWritten) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    const auto run = fresh_occurrence_run("job", 1, 1);
    const auto next = fresh_occurrence_run("job", 2, 2);
    mine.begin(run);
    const auto over = fresh_run("over", 1);
    mine.begin(over);
    EXPECT_TRUE(mine.get(mine->finish(mark_of(over), ended(run_status::lost))));
    const auto before = server.ask({"HGETALL", "pawl:journal:run:" + run.id});
    server.ask({"CONFIG", "SET", "maxmemory", "1"});
    const auto who = mark_of(run);
    const auto rejected = [&](const failure& why) { expect_detail(why, errc::unreachable, "OOM"); };
    rejected(mine.rejection(mine->begin(next)));
    rejected(mine.rejection(mine->heartbeat(std::vector<run_ref>{who})));
    rejected(mine.rejection(mine->checkpoint(who, "half")));
    rejected(mine.rejection(mine->append_output(who, 0, "hello", 100)));
    rejected(mine.rejection(mine->add_event(who, "note", "text")));
    rejected(mine.rejection(mine->next_attempt(who, ended(run_status::failed, "no"))));
    rejected(mine.rejection(mine->finish(who, ended(run_status::completed))));
    rejected(mine.rejection(mine->skip(next, "late")));
    rejected(mine.rejection(mine->request_cancel(run.id, "me")));
    rejected(mine.rejection(mine->add_trigger(conformance::trigger_for("job"))));
    rejected(mine.rejection(mine->pause_job("job", "why", "me")));
    rejected(mine.rejection(mine->append_audit(conformance::draft_of("me", "job"))));
    // What makes room works.
    EXPECT_EQ(mine.get(mine->prune("over", 0, 0ms, 10)), 1u);
    server.ask({"CONFIG", "SET", "maxmemory", "0"});
    EXPECT_EQ(server.ask({"HGETALL", "pawl:journal:run:" + run.id}), before);
    EXPECT_EQ(server.ask({"ZRANGE", "pawl:journal:beats", "0", "-1"}), run.id);
    EXPECT_FALSE(mine.get(mine->find_run(next.id)));
    EXPECT_EQ(mine.kinds_of_events(run.id), std::vector<std::string>{"begun"});
    const auto seen = mine.get(mine->read_control_state());
    EXPECT_EQ(seen.pauses.size() + seen.triggers.size() + seen.cancels.size(), 0u);
}

TEST(RedisJournal, AReadOnlyReplicaIsUnreachable) {
    redis_server primary;
    redis_options following;
    following.primary = primary.port();
    redis_server replica{following};
    auto mine = open(on_port(replica.port()));
    const auto run = fresh_run("job", 1);
    expect_detail(mine.rejection(mine->begin(run)), errc::unreachable, "READONLY");
    EXPECT_TRUE(mine.all({}, 10).empty());
}

// wait=1 where no replica is: what was written counts as unknown, and a repetition finds it.
TEST(RedisJournal, WithoutTheReplicasThatAreToConfirmTheOutcomeIsUnknown) {
    redis_server server;
    auto settings = on_port(server.port(), 8s);
    settings.replicas = 1;
    auto careful = open(settings);
    const auto run = fresh_run("job", 1);
    const auto why = careful.rejection(careful->begin(run));
    expect_detail(why, errc::outcome_unknown, "0 of 1 replicas");
    auto mine = open(on_port(server.port()));
    mine.begin(run);
    EXPECT_EQ(mine.all({}, 10).size(), 1u);
}

// ---- Connections and servers that go away

// Goal: an answer that was lost is given again. Method: it is held back on its way, and the
// connection cut; each verb is then repeated.
TEST(RedisJournal, WhatACutConnectionLeavesUnknownIsAnsweredByRepetition) {
    redis_server server;
    tcp_proxy proxy{server.port()};
    auto mine = open(on_port(proxy.port()));
    const auto run = fresh_occurrence_run("job", 1, 1);
    const auto end = ended(run_status::completed);
    const auto cut_while = [&](const auto& ask) {
        mine.get(mine->find_run("warm"));
        proxy.stall(direction::to_client);
        const auto held = proxy.held_bytes(direction::to_client);
        std::thread cutter{[&] {
            EXPECT_TRUE(proxy.wait_for_held_bytes(direction::to_client, held + 1));
            proxy.cut();
        }};
        const auto why = mine.rejection(ask());
        cutter.join();
        proxy.resume(direction::to_client);
        expect_detail(why, errc::outcome_unknown, "127.0.0.1");
    };
    cut_while([&] { return mine->begin(run); });
    mine.begin(run);
    cut_while([&] { return mine->append_output(mark_of(run), 0, "hello", 100); });
    EXPECT_TRUE(mine.get(mine->append_output(mark_of(run), 0, "hello", 100)));
    cut_while([&] { return mine->finish(mark_of(run), end); });
    EXPECT_TRUE(mine.get(mine->finish(mark_of(run), end)));
    EXPECT_EQ(mine.all({}, 10).size(), 1u);
    EXPECT_EQ(mine.output_of(run.id), "hello");
    EXPECT_EQ(mine.kinds_of_events(run.id), (std::vector<std::string>{"begun", "completed"}));
}

// Goal: nothing that was answered is lost, and nothing is there twice. Method: 32 callers write
// runs while the server, which syncs its file, is killed and started again.
TEST(RedisJournal, AServerThatIsKilledUnderLoadForgetsNothing) {
    redis_options options;
    options.persistence = redis_persistence::append_synced;
    redis_server server{options};
    auto mine = open(on_port(server.port(), 2s));
    std::atomic<bool> stopped{false};
    std::atomic<int> written{0};
    std::vector<std::thread> callers;
    constexpr int caller_count = 32;
    for (int caller = 0; caller < caller_count; ++caller)
        callers.emplace_back([&, caller] {
            for (int due = 1; !stopped; ++due) {
                const auto run = fresh_occurrence_run("job/" + std::to_string(caller), due, 1);
                const auto who = mark_of(run);
                const auto got = insist([&] { return mine.ask(mine->begin(run)); });
                EXPECT_EQ(got->outcome, begin_outcome::begun);
                const auto text = std::to_string(due);
                EXPECT_TRUE(*insist([&] { return mine.ask(mine->checkpoint(who, text)); }));
                const auto end = ended(run_status::completed);
                EXPECT_TRUE(*insist([&] { return mine.ask(mine->finish(who, end)); }));
                ++written;
            }
        });
    for (int round = 0; round < 3; ++round) {
        const auto before = written.load();
        until([&] { return written > before + 2 * caller_count; });
        server.crash();
        server.start();
    }
    const auto before = written.load();
    until([&] { return written > before + 2 * caller_count; });
    stopped = true;
    for (auto& caller : callers) caller.join();
    run_filter completed;
    completed.status = run_status::completed;
    const auto runs = mine.all(completed, 1000);
    EXPECT_EQ(runs.size(), static_cast<std::size_t>(written));
    EXPECT_EQ(mine.all({}, 1000).size(), runs.size());
    for (const auto& run : runs) EXPECT_EQ(run.checkpoint, std::to_string(number(*run.occurrence)));
    EXPECT_EQ(server.ask({"EXISTS", "pawl:journal:beats", "pawl:journal:status:started"}), "0");
}

// ---- Many and large

// Goal: nothing grows with use. Method: ten thousand runs with events, output and occurrences are
// pruned, and only the number of the last place stays.
TEST(RedisJournal, TenThousandPrunedRunsLeaveNoKeyBehind) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 8; ++caller)
        callers.emplace_back([&, caller] {
            for (int i = 0; i < 1250; ++i) {
                const auto run = fresh_occurrence_run("job", caller * 1250 + i, 1);
                mine.begin(run);
                const auto who = mark_of(run);
                if (i % 10 == 0) {
                    EXPECT_TRUE(mine.get(mine->append_output(who, 0, "hello", 100)));
                }
                const auto status = i % 3 == 0 ? run_status::failed : run_status::completed;
                EXPECT_TRUE(mine.get(mine->finish(who, ended(status))));
            }
        });
    for (auto& caller : callers) caller.join();
    EXPECT_EQ(server.ask({"ZCARD", "pawl:journal:runs"}), "10000");
    EXPECT_EQ(mine.get(mine->prune("job", 10'000, 1h, 20'000)), 0u);
    EXPECT_EQ(mine.get(mine->prune("job", 9'000, 0ms, 20'000)), 1000u);
    EXPECT_EQ(mine.get(mine->prune("job", 0, 0ms, 150)), 150u);
    EXPECT_EQ(mine.get(mine->prune("job", 0, 0ms, 20'000)), 8850u);
    EXPECT_EQ(server.ask({"KEYS", "*"}), "pawl:journal:place");
}

// Goal: a page is whole though it is larger than a reply may be. Method: 300 checkpoints of 64 KiB.
// Goal: one run that is retried for weeks keeps no others beyond their age. Method: it and one that
// has ended began an hour ago and more, and it begins another attempt now.
TEST(RedisJournal, ARunThatIsRetriedForLongKeepsNoOlderOnes) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    const auto retried = fresh_occurrence_run("job", 1000, 1);
    const auto over = fresh_occurrence_run("job", 2000, 2);
    for (const auto& run : {retried, over}) mine.begin(run);
    EXPECT_TRUE(mine.get(mine->finish(mark_of(over), ended(run_status::completed))));
    const auto long_ago = "0000000000001";
    for (const auto& run : {retried, over})
        server.ask({"HSET", "pawl:journal:run:" + run.id, "started", long_ago});
    server.ask({"HSET", "pawl:journal:run:" + over.id, "ended", long_ago});
    EXPECT_TRUE(mine.get(mine->next_attempt(mark_of(retried), ended(run_status::failed))));
    EXPECT_EQ(mine.get(mine->prune("job", 100, 1h, 100)), 1u);
    EXPECT_TRUE(mine.get(mine->find_run(retried.id)));
    EXPECT_FALSE(mine.get(mine->find_run(over.id)));
}

TEST(RedisJournal, PagesOfLargeRowsAreWhole) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    const std::string large(checkpoint_bytes_max, 'x');
    for (int i = 0; i < 300; ++i) {
        const auto run = fresh_run("job", 1);
        mine.begin(run);
        EXPECT_TRUE(mine.get(mine->checkpoint(mark_of(run), large)));
    }
    const auto page = mine.get(mine->list_runs({}, "", 300));
    EXPECT_EQ(page.records.size(), 300u);
    EXPECT_EQ(page.next, "");
    EXPECT_TRUE(std::all_of(page.records.begin(), page.records.end(),
                            [&](const run_record& run) { return run.checkpoint == large; }));
}

// Goal: no script holds up the server, however much is asked for. Method: the slow log of a server
// with 2000 runs, after all that is asked for at once, has no entry beyond 20 ms. It counts also
// the time for which the machine ran something else, so what is slow must be so each time.
TEST(RedisJournal, NoScriptHoldsUpTheServer) {
    redis_server server;
    auto mine = open(on_port(server.port()));
    server.ask({"CONFIG", "SET", "slowlog-log-slower-than", "20000"});
    const auto slow_scripts = [&] {
        std::vector<run_ref> all;
        for (int i = 0; i < 2000; ++i) {
            const auto run = fresh_run("job", 1);
            mine.begin(run);
            all.push_back(mark_of(run));
        }
        server.ask({"SLOWLOG", "RESET"});
        EXPECT_EQ(mine.get(mine->heartbeat(all)).size(), all.size());
        run_filter no_runs;
        no_runs.node = "none";
        EXPECT_TRUE(mine.all(no_runs, 1000).empty());
        EXPECT_EQ(mine.all({}, 1000).size(), all.size());
        for (const auto& who : all)
            EXPECT_TRUE(mine.get(mine->finish(who, ended(run_status::completed))));
        EXPECT_EQ(mine.get(mine->prune("job", 0, 0ms, 5000)), all.size());
        return server.ask({"SLOWLOG", "LEN"});
    };
    std::string slow;
    for (int turn = 0; turn < 3 && slow != "0"; ++turn) slow = slow_scripts();
    EXPECT_EQ(slow, "0");
}

}  // namespace
}  // namespace pawl::redis
