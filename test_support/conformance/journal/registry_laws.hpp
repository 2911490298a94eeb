// Jobs and nodes, the audit, and what all of them have in common.
#pragma once

#include "engines/rules/journal/audit_chain.hpp"
#include "test_support/conformance/journal/journal_fixture.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace pawl::conformance {

TYPED_TEST_P(JournalLaws, PublishedJobsAreListedInByteOrder) {
    auto mine = this->open();
    std::vector<job_entry> jobs;
    for (const auto* name : {"b", "a/2", "B", "\xc3\xa4", "a", "a b", "Z"})
        jobs.push_back(entry_for(name, "@daily", "node-a"));
    const auto told = mine.get(mine->publish(jobs));
    ASSERT_EQ(told.size(), jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        EXPECT_EQ(told[i].name, jobs[i].name);
        EXPECT_GT(told[i].since, 1'600'000'000'000);
        EXPECT_EQ(told[i].since, told[i].published_at);
    }
    auto other = this->open();
    for (const std::size_t limit : {1, 3, 7, 100}) {
        std::vector<std::string> names;
        for (std::string after;;) {
            const auto page = other.get(other->list_jobs(after, limit));
            EXPECT_LE(page.size(), limit);
            if (page.empty()) break;
            for (const auto& each : page) names.push_back(each.name);
            after = names.back();
        }
        EXPECT_EQ(names, (std::vector<std::string>{"B", "Z", "a", "a b", "a/2", "b", "\xc3\xa4"}));
    }
}

TYPED_TEST_P(JournalLaws, APublishedJobIsFoundAsItWasGiven) {
    auto mine = this->open();
    auto job = entry_for("report", "0 3 * * *", "node-a");
    job.zone = "Europe/Berlin";
    job.partitions = 8;
    job.definition = "{\"command\":[\"echo\",\"\xc3\xa4 'x' \\\\ %\"]}";
    EXPECT_TRUE(mine.get(mine->publish(std::vector<job_entry>{})).empty());
    mine.get(mine->publish(std::vector{job}));
    const auto found = mine.get(mine->find_job("report"));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->schedule, job.schedule);
    EXPECT_EQ(found->zone, job.zone);
    EXPECT_EQ(found->partitions, 8u);
    EXPECT_EQ(found->definition, job.definition);
    EXPECT_EQ(found->node, "node-a");
    EXPECT_FALSE(mine.get(mine->find_job("Report")));
}

// Goal: a schedule that is new has missed nothing, and other partitions have other keys, under
// which nothing has run. Method: since stays while other things change, and moves when the
// expression, the zone or the number of partitions does.
TYPED_TEST_P(JournalLaws, SinceTellsHowLongAJobHasHadItsSchedule) {
    auto mine = this->open();
    auto job = entry_for("report", "@daily", "node-a");
    const auto first = mine.get(mine->publish(std::vector{job})).at(0);
    mine.until_later_than(first.since);
    job.definition = "{}";
    job.node = "node-b";
    const auto second = mine.get(mine->publish(std::vector{job})).at(0);
    EXPECT_EQ(second.since, first.since);
    EXPECT_GT(second.published_at, first.published_at);
    // Of one that is too long for its client to remember, too.
    job.definition = R"({"command": [")" + std::string(20'000, 'x') + R"("]})";
    for (int turn = 0; turn < 2; ++turn) {
        mine.until_later_than(second.published_at);
        EXPECT_EQ(mine.get(mine->publish(std::vector{job})).at(0).since, first.since);
    }
    job.definition = "{}";
    job.schedule = "@hourly";
    const auto third = mine.get(mine->publish(std::vector{job})).at(0);
    EXPECT_GT(third.since, first.since);
    mine.until_later_than(third.since);
    job.zone = "Asia/Tokyo";
    const auto fourth = mine.get(mine->publish(std::vector{job})).at(0);
    EXPECT_GT(fourth.since, third.since);
    mine.until_later_than(fourth.since);
    job.partitions = 3;
    const auto fifth = mine.get(mine->publish(std::vector{job})).at(0);
    EXPECT_GT(fifth.since, fourth.since);
    mine.until_later_than(fifth.since);
    EXPECT_EQ(mine.get(mine->publish(std::vector{job})).at(0).since, fifth.since);
    const auto kept = mine.get(mine->find_job("report"));
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->since, fifth.since);
    EXPECT_EQ(kept->partitions, 3u);
    EXPECT_EQ(kept->node, "node-b");
}

// Goal: what ran in a slot does not say what a partition has done, though their keys are alike.
// Method: since moves when one becomes the other with the same number, and not with the number of
// slots' own text or where a definition begins to say that it has none.
TYPED_TEST_P(JournalLaws, SinceMovesWhereSlotsBecomePartitions) {
    auto mine = this->open();
    auto job = entry_for("report", "@daily", "node-a");
    job.partitions = 3;
    const auto since = [&](const std::string& definition) {
        job.definition = definition;
        const auto told = mine.get(mine->publish(std::vector{job})).at(0);
        mine.until_later_than(told.published_at);
        return told.since;
    };
    const auto none = since("{}");
    EXPECT_EQ(since(R"({"partitions":3,"slots":1})"), none);
    EXPECT_EQ(since(R"({"slots":1,"partitions":3})"), none);
    const auto slots = since(R"({"slots":3,"partitions":3})");
    EXPECT_GT(slots, none);
    EXPECT_EQ(since(R"({"partitions":3,"slots":10})"), slots);
    EXPECT_GT(since(R"({"slots":1,"partitions":3})"), slots);
}

// Goal: what came due while a job was paused is not made up for, whatever node looks. Method: since
// moves when the pause is taken back, of that job alone, and stays where there was none.
TYPED_TEST_P(JournalLaws, AResumedJobHasBeenDueOnlySinceThen) {
    auto mine = this->open();
    auto other = this->open();
    const std::vector jobs{entry_for("report", "*/30 * * * *", "node-a"),
                           entry_for("reports", "*/30 * * * *", "node-a")};
    const auto first = mine.get(mine->publish(jobs));
    EXPECT_FALSE(mine.get(mine->resume_job("report")));
    EXPECT_TRUE(mine.get(mine->pause_job("report", "", "ada")));
    EXPECT_TRUE(mine.get(mine->pause_job("unknown", "", "ada")));
    const auto paused = mine.get(mine->read_control_state()).pauses.at(0).at;
    mine.until_later_than(std::max(paused, first[0].since));
    EXPECT_EQ(mine.get(mine->publish(jobs)).at(0).since, first[0].since);
    EXPECT_TRUE(mine.get(mine->resume_job("report")));
    EXPECT_TRUE(other.get(other->resume_job("unknown")));
    const auto resumed = mine.get(mine->find_job("report"));
    ASSERT_TRUE(resumed);
    EXPECT_GT(resumed->since, paused);
    EXPECT_EQ(resumed->definition, jobs[0].definition);
    EXPECT_FALSE(mine.get(mine->find_job("unknown")));
    mine.until_later_than(resumed->since);
    EXPECT_FALSE(mine.get(mine->resume_job("report")));
    const auto again = mine.get(mine->publish(jobs));
    EXPECT_EQ(again[0].since, resumed->since);
    EXPECT_EQ(again[1].since, first[1].since);
}

// Goal: nor is what came due while it was not enabled. Method: its definition says so, and then
// does not any more; a text in it that reads alike says nothing.
TYPED_TEST_P(JournalLaws, AJobThatIsEnabledAgainHasBeenDueOnlySinceThen) {
    auto mine = this->open();
    auto job = entry_for("report", "@daily", "node-a");
    const auto publish = [&](const std::string& definition) {
        job.definition = definition;
        const auto told = mine.get(mine->publish(std::vector{job})).at(0);
        mine.until_later_than(told.published_at);
        return told;
    };
    const auto first = publish(R"({"name":"report","enabled":true,"zone":"UTC"})");
    EXPECT_EQ(publish(R"({"command":["{\"enabled\":false}"]})").since, first.since);
    EXPECT_EQ(publish(R"({"name":"report","enabled":true})").since, first.since);
    const auto off = R"({"name":"report","enabled":false,"zone":"UTC"})";
    EXPECT_EQ(publish(off).since, first.since);
    EXPECT_EQ(publish(off).since, first.since);
    const auto on = publish(R"({"name":"report","enabled":true,"zone":"UTC"})");
    EXPECT_EQ(on.since, on.published_at);
    EXPECT_EQ(publish(R"({"name":"report","enabled":true,"zone":"UTC"})").since, on.since);
}

TYPED_TEST_P(JournalLaws, OnlyWhoPublishedAJobLastRetiresIt) {
    auto mine = this->open();
    const std::vector jobs{entry_for("a", "@daily", "node-a"), entry_for("b", "@daily", "node-a"),
                           entry_for("c", "@daily", "node-a")};
    mine.get(mine->publish(jobs));
    mine.get(mine->publish(std::vector{entry_for("b", "@daily", "node-b")}));
    EXPECT_EQ(mine.get(mine->retire(std::vector<std::string>{"a", "b", "none"}, "node-a")), 1u);
    EXPECT_FALSE(mine.get(mine->find_job("a")));
    EXPECT_TRUE(mine.get(mine->find_job("b")));
    EXPECT_TRUE(mine.get(mine->find_job("c")));
    EXPECT_EQ(mine.get(mine->retire(std::vector<std::string>{"a", "b"}, "node-b")), 1u);
    EXPECT_EQ(mine.get(mine->retire(std::vector<std::string>{}, "node-b")), 0u);
}

TYPED_TEST_P(JournalLaws, NodesAreListedByNameWithTheirAge) {
    auto mine = this->open();
    auto other = this->open();
    auto b = node_named("host-b:1", "berlin");
    b.address = "127.0.0.1:7070";
    b.running = 3;
    b.running_max = 8;
    b.jobs = 60;
    b.draining = true;
    mine.done(mine->node_heartbeat(node_named("host-c:1", "cairo")));
    mine.done(mine->node_heartbeat(b));
    mine.done(mine->node_heartbeat(node_named("host-a:2", "apia")));
    const auto first = other.get(other->list_nodes());
    ASSERT_EQ(first.size(), 3u);
    EXPECT_EQ(first[0].name, "apia");
    EXPECT_EQ(first[2].name, "cairo");
    const auto& seen = first[1];
    EXPECT_EQ(seen.id, "host-b:1");
    EXPECT_EQ(seen.name, "berlin");
    EXPECT_EQ(seen.version, "0.1.0");
    EXPECT_EQ(seen.address, "127.0.0.1:7070");
    EXPECT_EQ(seen.running, 3u);
    EXPECT_EQ(seen.running_max, 8u);
    EXPECT_EQ(seen.jobs, 60u);
    EXPECT_TRUE(seen.draining);
    EXPECT_GT(seen.started_at, 1'600'000'000'000);
    EXPECT_EQ(seen.last_seen, seen.started_at);
    EXPECT_GE(seen.age.count(), 0);
    mine.until_later_than(std::max(first[0].last_seen, seen.last_seen));
    b.running = 0;
    mine.done(mine->node_heartbeat(b));
    const auto second = other.get(other->list_nodes());
    ASSERT_EQ(second.size(), 3u);
    EXPECT_EQ(second[1].running, 0u);
    EXPECT_EQ(second[1].started_at, seen.started_at);
    EXPECT_GT(second[1].last_seen, seen.last_seen);
    EXPECT_GT(second[0].age.count(), 0);
    mine.done(mine->node_leave("host-b:1"));
    mine.done(mine->node_leave("none"));
    EXPECT_EQ(other.get(other->list_nodes()).size(), 2u);
}

// Goal: nodes of a crash loop hide none that lives, whatever its name. Method: as many as a list
// has are there with names in front of one that comes later.
TYPED_TEST_P(JournalLaws, OfManyNodesThoseSeenLastAreListed) {
    auto mine = this->open();
    const auto last_seen = [&] {
        std::int64_t newest = 0;
        for (const auto& one : mine.get(mine->list_nodes()))
            newest = std::max(newest, one.last_seen);
        return newest;
    };
    mine.done(mine->node_heartbeat(node_named("a:oldest", "a")));
    mine.until_later_than(last_seen());
    for (std::size_t i = 1; i < page_limit_max; ++i)
        mine.done(mine->node_heartbeat(node_named("a:" + std::to_string(i), "a")));
    mine.until_later_than(last_seen());
    mine.done(mine->node_heartbeat(node_named("z:1", "z")));
    const auto nodes = mine.get(mine->list_nodes());
    ASSERT_EQ(nodes.size(), page_limit_max);
    EXPECT_EQ(nodes.back().id, "z:1");
    EXPECT_EQ(nodes[0].id, "a:1");
    for (std::size_t i = 1; i < nodes.size(); ++i)
        EXPECT_LT(std::tie(nodes[i - 1].name, nodes[i - 1].id),
                  std::tie(nodes[i].name, nodes[i].id));
    // Each beat counts, not only the first.
    mine.done(mine->node_heartbeat(node_named("a:oldest", "a")));
    const auto again = mine.get(mine->list_nodes());
    ASSERT_EQ(again.size(), page_limit_max);
    EXPECT_EQ(again[page_limit_max - 2].id, "a:oldest");
    EXPECT_EQ(again.back().id, "z:1");
}

TYPED_TEST_P(JournalLaws, ANodeWithoutAnIdIsRejected) {
    auto mine = this->open();
    EXPECT_EQ(mine.rejection(mine->node_heartbeat(node_named("", "berlin"))).code, errc::rejected);
    EXPECT_TRUE(mine.get(mine->list_nodes()).empty());
}

TYPED_TEST_P(JournalLaws, AnAuditEntryIsChainedToTheOneBefore) {
    auto mine = this->open();
    auto other = this->open();
    EXPECT_TRUE(mine.get(mine->list_audit(0, 10)).empty());
    auto draft = draft_of("ada@host", "job/r\xc3\xa9port");
    draft.detail = "two\nlines 'x'";
    const auto first = mine.get(mine->append_audit(draft));
    EXPECT_EQ(first.sequence, 1u);
    EXPECT_EQ(first.previous, std::string(64, '0'));
    EXPECT_EQ(first.detail, "two lines 'x'");
    EXPECT_GT(first.at, 1'600'000'000'000);
    const auto second = other.get(other->append_audit(draft_of("bob", "job/x")));
    EXPECT_EQ(second.sequence, 2u);
    EXPECT_EQ(second.previous, first.hash);
    const auto listed = mine.get(mine->list_audit(0, 10));
    ASSERT_EQ(listed.size(), 2u);
    EXPECT_EQ(listed[0].sequence, 2u);
    EXPECT_EQ(listed[0].hash, second.hash);
    EXPECT_EQ(listed[1].actor, "ada@host");
    EXPECT_EQ(listed[1].action, "job.pause");
    EXPECT_EQ(listed[1].target, "job/r\xc3\xa9port");
    EXPECT_EQ(listed[1].detail, first.detail);
    EXPECT_EQ(listed[1].at, first.at);
    EXPECT_EQ(listed[1].hash, journals::hash_of(listed[1]));
    EXPECT_EQ(listed[0].hash, journals::hash_of(listed[0]));
}

// Goal: one chain, whoever writes. Method: eight clients append at once; the sequence has no gap,
// the chain verifies, nothing is missing, and a change of any entry would be found.
TYPED_TEST_P(JournalLaws, TheAuditIsOneChainHoweverManyWrite) {
    constexpr int each = 15;
    std::vector<journal_client> clients;
    for (int i = 0; i < 8; ++i) clients.push_back(this->open());
    {
        std::vector<std::jthread> writers;
        for (std::size_t i = 0; i < clients.size(); ++i)
            writers.emplace_back([&, i] {
                for (int n = 0; n < each; ++n) {
                    const auto draft = draft_of("writer " + std::to_string(i), std::to_string(n));
                    clients[i].get(clients[i]->append_audit(draft));
                }
            });
    }
    auto entries = clients[0].whole_audit(7);
    ASSERT_EQ(entries.size(), 8u * each);
    std::set<std::string> written;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        EXPECT_EQ(entries[i].sequence, i + 1);
        written.insert(entries[i].actor + "/" + entries[i].target);
    }
    EXPECT_EQ(written.size(), entries.size());
    EXPECT_FALSE(journals::first_broken(entries));
    entries[40].detail = "forged";
    EXPECT_EQ(journals::first_broken(entries), 41u);
}

TYPED_TEST_P(JournalLaws, NamespacesNeverSeeEachOther) {
    auto mine = this->open();
    auto settings = this->settings();
    settings.name_space += ".x";
    auto elsewhere = this->open(settings);
    const auto start = fresh_occurrence_run("report", 1, 7);
    mine.begin(start);
    mine.get(mine->checkpoint(mark_of(start), "page"));
    mine.get(mine->pause_job("report", "why", "me"));
    mine.get(mine->add_trigger(trigger_for("report")));
    mine.get(mine->publish(std::vector{entry_for("report", "@daily", "node-a")}));
    mine.done(mine->node_heartbeat(node_named("id", "name")));
    mine.get(mine->append_audit(draft_of("me", "x")));
    EXPECT_FALSE(elsewhere.get(elsewhere->find_run(start.id)));
    EXPECT_FALSE(elsewhere.get(elsewhere->find_occurrence("report", 0, occurrence{1})));
    EXPECT_TRUE(elsewhere.all({}, 10).empty());
    const auto control_state = elsewhere.get(elsewhere->read_control_state());
    EXPECT_TRUE(control_state.pauses.empty() && control_state.triggers.empty());
    EXPECT_TRUE(elsewhere.get(elsewhere->list_jobs("", 10)).empty());
    EXPECT_TRUE(elsewhere.get(elsewhere->list_nodes()).empty());
    EXPECT_TRUE(elsewhere.get(elsewhere->list_audit(0, 10)).empty());
    EXPECT_EQ(elsewhere.get(elsewhere->append_audit(draft_of("me", "x"))).sequence, 1u);
    auto same = fresh_occurrence_run("report", 1, 1);
    same.starts_from = checkpoint_source::last_saved;
    EXPECT_EQ(elsewhere.begin(same).checkpoint, "");
    EXPECT_EQ(elsewhere.get(elsewhere->prune("report", 0, 0ms, 10)), 0u);
    EXPECT_EQ(mine.all({}, 10).size(), 1u);
}

TYPED_TEST_P(JournalLaws, ARestartKeepsEverything) {
    const auto start = fresh_occurrence_run("report", 1, 7, delivery::at_least_once);
    const auto what = trigger_for("backup");
    std::string hash;
    {
        auto before = this->open();
        before.begin(start);
        before.get(before->checkpoint(mark_of(start), "page"));
        before.get(before->append_output(mark_of(start), 0, "line", 100));
        before.get(before->pause_job("report", "why", "me"));
        before.get(before->add_trigger(what));
        before.get(before->publish(std::vector{entry_for("report", "@daily", "node-a")}));
        before.done(before->node_heartbeat(node_named("id", "name")));
        hash = before.get(before->append_audit(draft_of("me", "x"))).hash;
    }
    this->engine().restart();
    auto after = this->open();
    EXPECT_EQ(after.show(start.id).status, run_status::started);
    EXPECT_EQ(after.show(start.id).checkpoint, "page");
    EXPECT_EQ(after.output_of(start.id), "line");
    EXPECT_EQ(after.kinds_of_events(start.id).size(), 2u);
    const auto control_state = after.get(after->read_control_state());
    ASSERT_EQ(control_state.triggers.size(), 1u);
    EXPECT_EQ(control_state.triggers[0].id, what.id);
    EXPECT_EQ(control_state.pauses.size(), 1u);
    EXPECT_TRUE(after.get(after->find_job("report")));
    EXPECT_EQ(after.get(after->list_nodes()).size(), 1u);
    EXPECT_EQ(after.get(after->append_audit(draft_of("me", "y"))).previous, hash);
    EXPECT_EQ(after.get(after->heartbeat(std::vector{mark_of(start)})),
              std::vector{heartbeat_result::alive});
    const auto other = fresh_occurrence_run("report", 1, 8, delivery::at_least_once);
    EXPECT_EQ(after.begin(other, begin_outcome::resumed).checkpoint, "page");
}

}  // namespace pawl::conformance
