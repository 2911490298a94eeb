// Checkpoints: kept to the byte, fenced, and handed down.
#pragma once

#include "test_support/conformance/journal/journal_fixture.hpp"

#include <string>
#include <vector>

namespace pawl::conformance {

TYPED_TEST_P(JournalLaws, ACheckpointIsKeptToTheByte) {
    auto mine = this->open();
    auto other = this->open();
    const auto start = fresh_run("report", 7);
    mine.begin(start);
    std::string all_bytes;
    for (int i = 0; i < 256; ++i) all_bytes += static_cast<char>(i);
    for (const auto& text : {std::string{"{\"page\":12}"}, std::string{}, std::string{"a\0b", 3},
                             std::string{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\x92"}, all_bytes,
                             std::string(checkpoint_bytes_max, 'x')}) {
        EXPECT_TRUE(mine.get(mine->checkpoint(mark_of(start), text)));
        EXPECT_EQ(other.show(start.id).checkpoint, text);
    }
}

TYPED_TEST_P(JournalLaws, ACheckpointThatIsTooLargeIsRejectedAndTheOldOneStays) {
    auto mine = this->open();
    const auto start = fresh_run("report", 7);
    mine.begin(start);
    mine.get(mine->checkpoint(mark_of(start), "small"));
    const auto why = mine.rejection(
        mine->checkpoint(mark_of(start), std::string(checkpoint_bytes_max + 1, 'x')));
    EXPECT_EQ(why.code, errc::rejected);
    EXPECT_THAT(why.detail, testing::HasSubstr("65536"));
    EXPECT_EQ(mine.show(start.id).checkpoint, "small");
}

// Goal: a run without a lease, whose token is 0, saves its progress, and moves no other's
// backwards. Method: one beside a run with a token that has saved, and one of a job of its own.
TYPED_TEST_P(JournalLaws, ARunWithoutALeaseSavesForItselfAlone) {
    auto mine = this->open();
    const auto with_lease = fresh_occurrence_run("report", 1, 7);
    const auto without = fresh_occurrence_run("report", 2, 0);
    const auto first = fresh_occurrence_run("other", 1, 0);
    for (const auto& start : {with_lease, without, first}) mine.begin(start);
    EXPECT_TRUE(mine.get(mine->checkpoint(mark_of(with_lease), "1")));
    for (const auto* text : {"a", "b"}) {
        EXPECT_TRUE(mine.get(mine->checkpoint(mark_of(without), text)));
        EXPECT_EQ(mine.show(without.id).checkpoint, text);
    }
    EXPECT_TRUE(mine.get(mine->checkpoint(mark_of(first), "c")));
    for (const auto& [job, last] : {std::pair{"report", "1"}, std::pair{"other", "c"}}) {
        auto next = fresh_occurrence_run(job, 3, 8);
        next.starts_from = checkpoint_source::last_saved;
        EXPECT_EQ(mine.begin(next).checkpoint, last);
    }
}

// Goal: two runs of one job that overlap cannot write over each other's progress backwards. Method:
// two occurrences; once the newer token has saved, the older is rejected, though its run goes on.
TYPED_TEST_P(JournalLaws, ACheckpointIsRejectedOnceANewerTokenOfTheJobHasSavedOne) {
    auto mine = this->open();
    const auto old = fresh_occurrence_run("report", 1, 7);
    const auto young = fresh_occurrence_run("report", 2, 9);
    auto elsewhere = fresh_occurrence_run("report", 1, 6);
    elsewhere.partition = 1;
    const auto other = fresh_run("report/x", 5);
    for (const auto& start : {old, young, elsewhere, other}) mine.begin(start);
    EXPECT_TRUE(mine.get(mine->checkpoint(mark_of(old), "1")));
    EXPECT_TRUE(mine.get(mine->checkpoint(mark_of(young), "2")));
    EXPECT_FALSE(mine.get(mine->checkpoint(mark_of(old), "3")));
    EXPECT_EQ(mine.show(old.id).checkpoint, "1");
    EXPECT_EQ(mine.get(mine->heartbeat(std::vector{mark_of(old)})),
              std::vector{heartbeat_result::alive});
    EXPECT_TRUE(mine.get(mine->checkpoint(mark_of(young), "4")));
    EXPECT_TRUE(mine.get(mine->checkpoint(mark_of(elsewhere), "5")));
    EXPECT_TRUE(mine.get(mine->checkpoint(mark_of(other), "6")));
    auto next = fresh_occurrence_run("report", 3, 10);
    next.starts_from = checkpoint_source::last_saved;
    EXPECT_EQ(mine.begin(next).checkpoint, "4");
}

TYPED_TEST_P(JournalLaws, ARunIsGivenWhatItsJobSavedLastIfItAsks) {
    auto mine = this->open();
    const auto first = fresh_occurrence_run("report", 1, 7);
    mine.begin(first);
    mine.get(mine->checkpoint(mark_of(first), std::string{"a\0b", 3}));
    mine.get(mine->finish(mark_of(first), ended(run_status::failed)));
    EXPECT_EQ(mine.begin(fresh_occurrence_run("report", 2, 8)).checkpoint, "");
    auto asks = fresh_occurrence_run("report", 3, 9);
    asks.starts_from = checkpoint_source::last_saved;
    EXPECT_EQ(mine.begin(asks).checkpoint, (std::string{"a\0b", 3}));
    EXPECT_EQ(mine.begin(asks).checkpoint, (std::string{"a\0b", 3}));
    EXPECT_EQ(mine.show(asks.id).checkpoint, (std::string{"a\0b", 3}));
    auto other = fresh_occurrence_run("report", 3, 9);
    other.partition = 1;
    other.starts_from = checkpoint_source::last_saved;
    EXPECT_EQ(mine.begin(other).checkpoint, "");
    // An empty checkpoint is one: it starts from nothing again.
    EXPECT_TRUE(mine.get(mine->checkpoint(mark_of(asks), "")));
    auto after = fresh_occurrence_run("report", 4, 10);
    after.starts_from = checkpoint_source::last_saved;
    EXPECT_EQ(mine.begin(after).checkpoint, "");
}

TYPED_TEST_P(JournalLaws, AResumedRunHasItsOwnCheckpointNotTheLastSaved) {
    auto mine = this->open();
    const auto first = fresh_occurrence_run("report", 1, 7, delivery::at_least_once);
    const auto second = fresh_occurrence_run("report", 2, 8, delivery::at_least_once);
    mine.begin(first);
    mine.begin(second);
    mine.get(mine->checkpoint(mark_of(first), "first"));
    mine.get(mine->checkpoint(mark_of(second), "second"));
    auto again = fresh_occurrence_run("report", 1, 9, delivery::at_least_once);
    again.starts_from = checkpoint_source::last_saved;
    EXPECT_EQ(mine.begin(again, begin_outcome::resumed).checkpoint, "first");
}

}  // namespace pawl::conformance
