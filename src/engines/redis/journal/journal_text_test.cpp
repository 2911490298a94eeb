// The journal's rows and texts as they lie in Redis: what was written is read back, and nothing
// else is.
#include "engines/redis/journal/journal_text.hpp"

#include "engines/rules/journal/audit_chain.hpp"
#include "engines/rules/journal/texts.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace pawl::redis {
namespace {

using fields = std::vector<std::pair<std::string, std::string>>;

reply row_of(const fields& all) {
    reply row;
    row.kind = reply_kind::array;
    for (const auto& [name, value] : all)
        for (const auto& text : {name, value}) {
            row.elements.emplace_back();
            row.elements.back().kind = reply_kind::text;
            row.elements.back().text = text;
        }
    return row;
}

const fields whole_run{
    {"id", "a"},          {"job", "nightly"},       {"partition", "3"},      {"token", "17"},
    {"status", "failed"}, {"mode", "at_most_once"}, {"firing", "-5"},        {"started", "100"},
    {"ended", "200"},     {"heard", "150"},         {"attempt", "2"},        {"exit", "-1"},
    {"output", "9"},      {"checkpoint", "half"},   {"something else", "?"}, {"place", "1"}};

TEST(RedisJournalText, ARowIsReadFieldByField) {
    const auto run = read_run(row_of(whole_run));
    ASSERT_TRUE(run);
    EXPECT_EQ(run->job, "nightly");
    EXPECT_EQ(run->partition, 3U);
    EXPECT_EQ(number(run->token), 17U);
    EXPECT_EQ(run->status, run_status::failed);
    EXPECT_EQ(run->delivery, delivery::at_most_once);
    EXPECT_EQ(run->occurrence, occurrence{-5});
    EXPECT_EQ(run->completed_at, 200);
    EXPECT_EQ(run->last_heartbeat, 150);
    EXPECT_EQ(run->exit_status, -1);
    EXPECT_EQ(run->output_size, 9U);
    EXPECT_FALSE(run->cancel_requested);
}

// While a run is started its last heartbeat follows from when the next one is due.
TEST(RedisJournalText, TheLastHeartbeatOfAStartedRunIsThatOfTheIndex) {
    auto all = whole_run;
    all.insert(all.end(), {{"silence", "60000"}, {"due", "90000"}});
    EXPECT_EQ(read_run(row_of(all))->last_heartbeat, 30'000);
}

// Goal: what another program wrote is not taken for a run. Method: each field in turn is nonsense.
TEST(RedisJournalText, ARowWithAnyFieldThatIsNoneIsNotRead) {
    for (std::size_t i = 0; i < whole_run.size(); ++i) {
        auto all = whole_run;
        const auto name = all[i].first;
        if (name == "checkpoint" || name == "something else" || name == "place") continue;
        all[i].second = name == "id" || name == "job" ? "" : "12x";
        EXPECT_FALSE(read_run(row_of(all))) << name;
    }
    EXPECT_FALSE(read_run(row_of({})));
    EXPECT_FALSE(read_run(reply{}));
    auto odd = row_of(whole_run);
    odd.elements.pop_back();
    EXPECT_FALSE(read_run(odd));
}

TEST(RedisJournalText, TriggersAndPausesAreReadBack) {
    run_trigger asked;
    asked.job = "nightly";
    asked.partition = 2;
    asked.arguments = {"", "a b", std::string{"\0:1\n", 4}};
    asked.starts_from = checkpoint_source::last_saved;
    asked.by = "me";
    const auto read = read_trigger("id", "3:100" + text_of(asked));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->arguments, asked.arguments);
    EXPECT_EQ(read->starts_from, asked.starts_from);
    EXPECT_EQ(read->partition, 2U);
    EXPECT_EQ(read->at, 100);
    EXPECT_FALSE(read_trigger("id", text_of(asked)));
    EXPECT_FALSE(read_trigger("id", "not ours"));
    job_pause paused;
    paused.reason = "why";
    paused.by = "me";
    EXPECT_EQ(read_pause("nightly", "3:100" + text_of(paused))->reason, "why");
    EXPECT_FALSE(read_pause("nightly", "3:100"));
}

TEST(RedisJournalText, AnAuditEntryKeepsItsHash) {
    audit_draft what;
    what.actor = "me";
    what.action = "job.pause";
    what.target = "nightly";
    what.detail = "1:2:3";
    const auto entry = journals::next_entry(0, "", what, 100);
    const auto read = read_audit(text_of(entry));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->hash, journals::hash_of(*read));
    EXPECT_EQ(read->sequence, 1U);
    EXPECT_FALSE(read_audit("1:1"));
}

TEST(RedisJournalText, AnEventIsReadBackAndNonsenseIsNot) {
    const auto text = journals::pack({"100", "note", "a text", "node", "17", "2"});
    const auto event = read_event(text);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->at, 100);
    EXPECT_EQ(event->kind, "note");
    EXPECT_EQ(number(event->token), 17U);
    EXPECT_EQ(event->attempt, 2);
    EXPECT_FALSE(read_event(text.substr(0, text.size() - 3)));
    EXPECT_FALSE(read_event("9:1"));
}

}  // namespace
}  // namespace pawl::redis
