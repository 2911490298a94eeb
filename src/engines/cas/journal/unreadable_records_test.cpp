// A record that cannot be read, because another program or a newer pawl has written it, is a
// failure of its own key and of no other; and what belongs to it stays as it is.
#include "engines/cas/journal/cas_verbs_fixture.hpp"
#include "engines/cas/journal/journal_keys.hpp"
#include "test_support/conformance/expectations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::cas {
namespace {

using conformance::expect_failure;
using ::testing::ElementsAre;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

// Longer than hints are kept for which no truth asks.
constexpr millis long_enough = std::chrono::minutes{11};

class UnreadableRecords : public ::testing::Test {
protected:
    void put(std::string_view key, std::string text = "{}") {
        setup_.on.table->put({record_kind::journal, std::string{key}}, std::move(text));
    }
    std::string text_at(const std::string& key) {
        return setup_.on.table->read({record_kind::journal, key}).text;
    }
    std::string ask(const told_verb& verb) { return setup_.ask(mine_, verb); }
    template <class T>
    T get(async<T> verb) {
        auto got = setup_.on.end_of(std::move(verb));
        EXPECT_TRUE(got.has_value()) << got.error().detail;
        return got.has_value() ? std::move(*got) : T{};
    }
    std::vector<std::string> listed() {
        std::vector<std::string> ids;
        for (const auto& run : get(mine_->list_runs({}, "", 100)).records) ids.push_back(run.id);
        return ids;
    }
    std::vector<std::string> stale() {
        std::vector<std::string> ids;
        for (const auto& run : get(mine_->stale_runs(100, 0))) ids.push_back(run.id);
        return ids;
    }

    journal_setup setup_;
    std::shared_ptr<journal> mine_ = setup_.open();
};

// Goal: no pause, trigger, cancel or abandoned run is missed for another's record. Method: one of
// each is there; beside it one whose entry cannot be read, and one whose run or trigger cannot.
TEST_F(UnreadableRecords, TheControlStateHasAllOthers) {
    ask(pause_of("backup", "full"));
    ask(add_of(trigger_with("t")));
    ask(add_of(trigger_with("unreadable trigger")));
    for (const auto* id : {"cancelled", "cancelled, unreadable"}) {
        ask(begin_of(start_of(id, 7)));
        ask(cancel_of(id));
    }
    std::int64_t due = 0;
    for (const auto* id : {"abandoned", "abandoned, unreadable"}) {
        ask(begin_of(start_of(id, 8, ++due)));
        ask(finish_of(mark(id, 8), run_status::abandoned));
    }
    put(std::string{keys::pauses} + "report");
    for (const auto scope : {keys::triggers, keys::cancels, keys::orphans})
        put(keys::oldest_first(scope, 1));
    put(keys::run("unreadable trigger"));
    put(keys::run("cancelled, unreadable"));
    put(keys::due("report", 0, occurrence{2}));

    const auto state = get(mine_->read_control_state());
    ASSERT_EQ(state.pauses.size(), 2U);
    EXPECT_EQ(state.pauses[0].job, "backup");
    // It may be one, so it is one.
    EXPECT_EQ(state.pauses[1].job, "report");
    EXPECT_THAT(state.pauses[1].reason, StartsWith("(unreadable) this is not a record"));
    ASSERT_EQ(state.triggers.size(), 1U);
    EXPECT_EQ(state.triggers[0].id, "t");
    EXPECT_THAT(state.cancels, ElementsAre("cancelled"));
    ASSERT_EQ(state.orphans.size(), 1U);
    EXPECT_EQ(state.orphans[0].id, "abandoned");
    // It ends as any other does.
    EXPECT_EQ(ask(resume_of("report")), "yes");
    EXPECT_EQ(get(mine_->read_control_state()).pauses.size(), 1U);
}

TEST_F(UnreadableRecords, ListsOfRunsHaveAllOthers) {
    ask(begin_of(start_of("a", 7)));
    ask(begin_of(start_of("unreadable", 8)));
    ask(begin_of(start_of("with a checkpoint", 9)));
    ask(checkpoint_of(mark("with a checkpoint", 9), large_checkpoint));
    put(keys::run("unreadable"));
    for (const auto& index :
         {std::string{keys::all_runs}, std::string{keys::active}, keys::runs_of("report")})
        put(keys::newest_first(index, 1));
    for (const auto& key : setup_.keys_there())
        if (key.find(":c/") != std::string::npos) put(key);
    EXPECT_THAT(listed(), UnorderedElementsAre("a", "with a checkpoint"));
    setup_.on.pass(1min);
    EXPECT_THAT(stale(), UnorderedElementsAre("a", "with a checkpoint"));
    const auto found = setup_.on.end_of(mine_->find_run("unreadable"));
    expect_failure(found, errc::rejected, "this is not a record of a journal's run");
}

// Goal: what another version of pawl can read is not taken for what a lost process has left.
// Method: of a run that is over and one that is not, with output, the truth cannot be read for
// longer than such remains are kept, while everything looks that removes them; then it can again.
TEST_F(UnreadableRecords, NothingOfThemIsRemoved) {
    ask(begin_of(start_of("over", 7)));
    ask(output_of(mark("over", 7), 0, "line 1\n"));
    ask(finish_of(mark("over", 7), run_status::completed));
    ask(begin_of(start_of("active", 8)));
    ask(output_of(mark("active", 8), 0, "line 2\n"));
    ask(cancel_of("active"));
    const auto before = setup_.keys_there();
    std::vector<std::string> texts;
    for (const auto* id : {"over", "active"}) {
        texts.push_back(text_at(keys::run(id)));
        put(keys::run(id), "2 run of tomorrow");
    }
    setup_.on.pass(long_enough);
    mine_ = setup_.open();
    EXPECT_TRUE(listed().empty());
    EXPECT_TRUE(stale().empty());
    EXPECT_TRUE(get(mine_->read_control_state()).cancels.empty());
    EXPECT_EQ(ask(prune_of(0)), "0");
    EXPECT_EQ(ask(prune_of(10)), "0");
    EXPECT_EQ(setup_.keys_there(), before);
    put(keys::run("over"), texts[0]);
    put(keys::run("active"), texts[1]);
    EXPECT_THAT(listed(), UnorderedElementsAre("over", "active"));
    EXPECT_THAT(stale(), ElementsAre("active"));
    EXPECT_EQ(ask(prune_of(0)), "1");
}

TEST_F(UnreadableRecords, OthersOfTheJobArePruned) {
    for (const auto* id : {"a", "unreadable", "b"}) {
        ask(begin_of(start_of(id, 7)));
        ask(finish_of(mark(id, 7), run_status::completed));
    }
    put(keys::run("unreadable"));
    put(keys::newest_first(keys::runs_of("report"), 1));
    EXPECT_EQ(ask(prune_of(1)), "1");
    EXPECT_THAT(listed(), ElementsAre("b"));
    EXPECT_EQ(ask(prune_of(0)), "1");
}

// Goal: a run is not judged as stale for another's record. Method: a process that knows them and
// one that has to look tell of more runs than are written at a time.
TEST_F(UnreadableRecords, OthersAreHeard) {
    std::vector<run_ref> all;
    for (int i = 0; i < 30; ++i) {
        all.push_back(mark("run " + std::to_string(i), 7));
        ask(begin_of(start_of(all.back().id, 7)));
    }
    put(keys::run("run 0"));
    for (const bool is_known : {true, false}) {
        if (!is_known) mine_ = setup_.open();
        setup_.on.pass(9s);
        EXPECT_EQ(get(mine_->heartbeat(all)), std::vector(all.size(), heartbeat_result::alive));
    }
    EXPECT_TRUE(stale().empty());
    const std::vector<run_ref> alone{all.front()};
    expect_failure(setup_.on.end_of(mine_->heartbeat(alone)), errc::rejected,
                   "this is not a record");
}

TEST_F(UnreadableRecords, OtherJobsArePublishedListedAndRetired) {
    ask(publish_of({"a", "b", "c"}, "@daily", "n"));
    const auto names = [&] {
        std::vector<std::string> all;
        for (const auto& job : get(mine_->list_jobs("", 100))) all.push_back(job.name);
        return all;
    };
    put("jobs:b");
    EXPECT_THAT(names(), ElementsAre("a", "c"));
    // What no pawl has written is replaced.
    EXPECT_EQ(ask(publish_of({"a", "b", "c"}, "@hourly", "n")), "3");
    EXPECT_THAT(names(), ElementsAre("a", "b", "c"));
    // And what a newer one has, is not; others are told, and that to ask again is of no use.
    put("jobs:b", "2 job of tomorrow");
    EXPECT_EQ(ask(publish_of({"b", "a", "c"}, "@weekly", "n")), "error unsupported");
    EXPECT_EQ(text_at("jobs:b"), "2 job of tomorrow");
    for (const auto& job : get(mine_->list_jobs("", 100))) EXPECT_EQ(job.schedule, "@weekly");
    EXPECT_EQ(ask(retire_of({"b", "a", "c"}, "n")), "2");
    EXPECT_EQ(text_at("jobs:b"), "2 job of tomorrow");
}

// It is told as one that was not heard of for long, and not as one that has left.
TEST_F(UnreadableRecords, OtherNodesAreListed) {
    ask(node_of("n", 1));
    put("nodes:m");
    const auto nodes = get(mine_->list_nodes());
    ASSERT_EQ(nodes.size(), 2U);
    EXPECT_EQ(nodes[0].id, "n");
    EXPECT_LT(nodes[0].age, 1min);
    EXPECT_EQ(nodes[1].id, "m");
    EXPECT_EQ(nodes[1].name, "(unreadable)");
    EXPECT_GE(nodes[1].age, 24h);
}

// Goal: the audit continues behind an entry that was damaged, and shows where. Method: the newest
// entry, and one that a newer pawl has written, behind which nothing may be added by an old one.
TEST_F(UnreadableRecords, TheAuditContinuesAndShowsWhereItIsBroken) {
    ask(audit_of("ada"));
    ask(audit_of("bob"));
    put(keys::newest_first(keys::audit, 2));
    EXPECT_EQ(ask(audit_of("cyd")), "cyd");
    auto entries = get(mine_->list_audit(0, 100));
    ASSERT_EQ(entries.size(), 3U);
    EXPECT_EQ(entries[1].sequence, 2U);
    EXPECT_EQ(entries[1].actor, "(unreadable)");
    std::ranges::reverse(entries);
    EXPECT_EQ(journals::first_broken(entries), 2U);
    put(keys::newest_first(keys::audit, 3), "2 audit of tomorrow");
    EXPECT_EQ(ask(audit_of("dan")), "error unsupported");
}

}  // namespace
}  // namespace pawl::cas
