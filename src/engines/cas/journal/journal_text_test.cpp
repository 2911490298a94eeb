#include "engines/cas/journal/journal_text.hpp"

#include "engines/cas/journal/journal_keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace pawl::cas {
namespace {

seen standing(std::string text) {
    seen stands;
    stands.text = std::move(text);
    stands.at = "1";
    return stands;
}

run_event event_of(std::string kind, std::string text) {
    run_event event;
    event.at = 1'700'000'000'123;
    event.kind = std::move(kind);
    event.text = std::move(text);
    event.node = "k\xc3\xb6ln";
    event.token = fence_token{7};
    event.attempt = 2;
    return event;
}

run_state whole_state() {
    run_state state;
    auto& run = state.row.record;
    run.id = "5d1c";
    run.job = "rep\"ort \xff";
    run.partition = 3;
    run.key = "job/report/3";
    run.owner = "host:1:2:x";
    run.node = "k\xc3\xb6ln";
    run.token = fence_token{7};
    run.occurrence = occurrence{-5'000'000'000'000};
    run.delivery = delivery::at_least_once;
    run.trigger = "schedule";
    run.status = run_status::cancelled;
    run.reason = "asked";
    run.started_at = 1'700'000'000'000;
    run.completed_at = 1'700'000'000'456;
    run.last_heartbeat = 1'700'000'000'123;
    run.exit_status = -1;
    run.attempt = 2;
    run.checkpoint = std::string{"a\0b\x01", 4};
    run.output_size = 30;
    run.cancel_requested = true;
    state.row.heartbeat_timeout = millis{12'345};
    state.row.taken_over = true;
    state.number = 0x7fffffffffffffff;
    state.saved = "ref";
    state.output_floor = 10;
    state.output = {{fence_token{6}, 5, 20}, {fence_token{7}, 22, 30}};
    state.event_count = 20;
    state.begun = event_of("begun", "schedule");
    state.events = {event_of("note", "one"), event_of("cancelled", "asked")};
    return state;
}

// Goal: nothing is lost on the way. Method: what was read is written again, and is the same text.
TEST(JournalText, ARunComesBackAsItWas) {
    for (const bool is_plain : {false, true}) {
        auto state = whole_state();
        if (is_plain) {
            state = run_state{};
            state.row.record.id = "x";
            state.row.record.job = "y";
        }
        const auto text = encode(state, "n.0");
        const auto read = parse_run_place(standing(text));
        ASSERT_TRUE(read.has_value()) << text << read.error().detail;
        ASSERT_TRUE(read->run) << text;
        EXPECT_EQ(encode(*read->run, "n.0"), text);
        EXPECT_EQ(read->run->row.record.job, state.row.record.job);
        EXPECT_EQ(read->run->row.record.checkpoint, state.row.record.checkpoint);
        EXPECT_EQ(text.find('\n'), std::string::npos);
    }
}

TEST(JournalText, ARecordIsOneLineThatPeopleCanRead) {
    run_state state;
    state.row.record.id = "5d1c";
    state.row.record.job = "report";
    EXPECT_TRUE(
        encode(state, "9f3a.0")
            .starts_with(R"(1 run nonce=9f3a.0 {"id":"5d1c","job":"report","partition":0,)"))
        << encode(state, "9f3a.0");
}

TEST(JournalText, WhatStandsUnderAnIdIsToldApart) {
    waiting_trigger waiting;
    waiting.what.id = "5d1c";
    waiting.what.job = "report";
    waiting.what.arguments = {"--from", "", std::string{"a\0b", 3}, "\xff"};
    waiting.what.starts_from = checkpoint_source::last_saved;
    waiting.number = 12;
    const auto trigger = parse_run_place(standing(encode(waiting, "n")));
    ASSERT_TRUE(trigger.has_value());
    ASSERT_TRUE(trigger->trigger);
    EXPECT_EQ(trigger->trigger->what.arguments, waiting.what.arguments);
    EXPECT_EQ(trigger->trigger->what.starts_from, checkpoint_source::last_saved);
    EXPECT_EQ(trigger->trigger->number, 12u);
    const auto elsewhere = parse_run_place(standing(encode_elsewhere("due/a/0:1", "n")));
    ASSERT_TRUE(elsewhere.has_value());
    EXPECT_EQ(elsewhere->elsewhere, "due/a/0:1");
    const auto nothing = parse_run_place(seen{});
    ASSERT_TRUE(nothing.has_value());
    EXPECT_FALSE(nothing->run || nothing->trigger || !nothing->elsewhere.empty());
}

// Goal: the largest that may be kept has room. Method: chunks of text, of control characters, of
// bytes that are no UTF-8; each comes back, and is not longer than a record may be.
TEST(JournalText, AnyBytesComeBackAndTheLargestChunkFits) {
    for (const auto& bytes :
         {std::string(output_chunk_bytes_max, 'x'), std::string(output_chunk_bytes_max, '\1'),
          std::string(output_chunk_bytes_max, '\n'), std::string(output_chunk_bytes_max, '\xff'),
          std::string{}, std::string{"\"\\\b\f\r\t"}}) {
        const auto text = encode(output_chunk{12, fence_token{7}, bytes}, "n");
        EXPECT_LE(text.size(), journal_text_max);
        const auto read = parse_chunk(text);
        ASSERT_TRUE(read.has_value());
        EXPECT_EQ(read->bytes, bytes);
        EXPECT_EQ(read->offset, 12u);
    }
}

TEST(JournalText, WhatOthersHaveWrittenIsRejected) {
    const auto good = encode(whole_state(), "n");
    for (const auto& bad : {std::string{}, std::string{"1 run"}, std::string{"1 run nonce=n {}"},
                            std::string{"1 run nonce=n []"}, good.substr(0, good.size() - 1),
                            "1 lease" + good.substr(5), std::string{"{}"}}) {
        const auto read = parse_run_place(standing(bad));
        ASSERT_TRUE(read.has_error()) << bad;
        EXPECT_EQ(read.error().code, errc::rejected);
    }
    const auto newer = parse_run_place(standing("2" + good.substr(1)));
    ASSERT_TRUE(newer.has_error());
    EXPECT_EQ(newer.error().code, errc::unsupported);
}

// Goal: byte order is the order of time. Method: numbers and places, sorted as keys.
TEST(JournalKeys, APlaceSortsTheNewestFirst) {
    std::vector<std::string> newest, oldest;
    for (const std::uint64_t number : {std::uint64_t{1}, std::uint64_t{255}, std::uint64_t{256},
                                       std::uint64_t{1} << 40, (std::uint64_t{1} << 62) + 7}) {
        newest.push_back(keys::newest_first(keys::all_runs, number));
        oldest.push_back(keys::oldest_first(keys::triggers, number));
    }
    EXPECT_TRUE(std::is_sorted(newest.rbegin(), newest.rend()));
    EXPECT_TRUE(std::is_sorted(oldest.begin(), oldest.end()));
}

TEST(JournalKeys, NoTwoJobsShareAScope) {
    EXPECT_EQ(keys::due("report", 3, occurrence{-5}), "due/report/3:-5");
    EXPECT_EQ(keys::due("a/b:c%", 0, occurrence{1}), "due/a%2Fb%3Ac%25/0:1");
    EXPECT_NE(keys::runs_of("a"), keys::runs_of("a/b").substr(0, keys::runs_of("a").size()));
    EXPECT_EQ(keys::run("5d1c").find(':'), keys::run("5d1c").rfind(':'));
    const std::string longest(job_name_bytes_max, '\xff');
    EXPECT_LE(keys::due(longest, 4'294'967'295, occurrence{1}).size(), 1536u + 20);
}

TEST(JournalKeys, ChunksAreInTheOrderOfTheirEnds) {
    EXPECT_LT(keys::chunk(1, 99, fence_token{7}, 9), keys::chunk(1, 100, fence_token{1}, 1));
    EXPECT_LT(keys::chunk(1, 100, fence_token{~0ULL}, 99), keys::chunks_behind(1, 100));
    EXPECT_LT(keys::chunks_behind(1, 100), keys::chunk(1, 101, fence_token{}, 1));
}

}  // namespace
}  // namespace pawl::cas
