// What a run writes: any bytes, in order, bounded, and readable while it grows.
#pragma once

#include "test_support/conformance/journal/journal_fixture.hpp"

#include <string>
#include <thread>
#include <vector>

namespace pawl::conformance {

// Bytes that tell their place: no two parts of it are alike for long.
inline std::string some_output(std::size_t bytes) {
    std::string text;
    text.reserve(bytes + 16);
    for (std::size_t line = 0; text.size() < bytes; ++line) {
        text += std::to_string(line);
        text += static_cast<char>(line % 256);
    }
    text.resize(bytes);
    return text;
}

TYPED_TEST_P(JournalLaws, OutputIsReadBackAsItWasWritten) {
    auto mine = this->open();
    const auto start = fresh_run("report", 7);
    mine.begin(start);
    const auto all = some_output(30'000);
    for (std::size_t at = 0; at < all.size(); at += 7000)
        EXPECT_TRUE(
            mine.get(mine->append_output(mark_of(start), at, all.substr(at, 7000), 1 << 20)));
    EXPECT_EQ(mine.output_of(start.id), all);
    EXPECT_EQ(mine.show(start.id).output_size, all.size());
    std::string piecemeal;
    while (piecemeal.size() < all.size()) {
        const auto part = mine.get(mine->read_output(start.id, piecemeal.size(), 999));
        ASSERT_TRUE(part);
        ASSERT_FALSE(part->bytes.empty());
        EXPECT_LE(part->bytes.size(), 999u);
        EXPECT_EQ(part->offset, piecemeal.size());
        EXPECT_EQ(part->size, all.size());
        EXPECT_FALSE(part->over);
        piecemeal += part->bytes;
    }
    EXPECT_EQ(piecemeal, all);
    const auto middle = mine.get(mine->read_output(start.id, 12'345, 10));
    ASSERT_TRUE(middle);
    EXPECT_EQ(middle->bytes, all.substr(12'345, 10));
}

TYPED_TEST_P(JournalLaws, AChunkThatIsThereAlreadyIsNotAddedAgain) {
    auto mine = this->open();
    const auto start = fresh_run("report", 7);
    mine.begin(start);
    const auto mark = mark_of(start);
    EXPECT_TRUE(mine.get(mine->append_output(mark, 0, "abcdef", 1000)));
    EXPECT_TRUE(mine.get(mine->append_output(mark, 0, "abcdef", 1000)));
    EXPECT_TRUE(mine.get(mine->append_output(mark, 3, "def", 1000)));
    EXPECT_EQ(mine.output_of(start.id), "abcdef");
    EXPECT_TRUE(mine.get(mine->append_output(mark, 4, "efghi", 1000)));
    EXPECT_TRUE(mine.get(mine->append_output(mark, 9, "", 1000)));
    EXPECT_EQ(mine.output_of(start.id), "abcdefghi");
    EXPECT_EQ(mine.show(start.id).output_size, 9u);
}

TYPED_TEST_P(JournalLaws, AGapIsTold) {
    auto mine = this->open();
    const auto start = fresh_run("report", 7);
    mine.begin(start);
    EXPECT_TRUE(mine.get(mine->append_output(mark_of(start), 0, "abc", 1000)));
    EXPECT_TRUE(mine.get(mine->append_output(mark_of(start), 10, "xyz", 1000)));
    const auto first = mine.get(mine->read_output(start.id, 1, 100));
    ASSERT_TRUE(first);
    EXPECT_EQ(first->bytes, "bc");
    EXPECT_EQ(first->offset, 1u);
    EXPECT_EQ(first->size, 13u);
    for (const std::uint64_t from : {3, 7, 10}) {
        const auto second = mine.get(mine->read_output(start.id, from, 100));
        ASSERT_TRUE(second);
        EXPECT_EQ(second->offset, 10u);
        EXPECT_EQ(second->bytes, "xyz");
    }
    EXPECT_EQ(mine.show(start.id).output_size, 13u);
}

TYPED_TEST_P(JournalLaws, BehindTheEndThereIsNothingYet) {
    auto mine = this->open();
    const auto start = fresh_run("report", 7);
    mine.begin(start);
    const auto empty = mine.get(mine->read_output(start.id, 0, 100));
    ASSERT_TRUE(empty);
    EXPECT_EQ(empty->offset, 0u);
    EXPECT_EQ(empty->bytes, "");
    EXPECT_EQ(empty->size, 0u);
    EXPECT_FALSE(empty->over);
    mine.get(mine->append_output(mark_of(start), 0, "abc", 1000));
    const auto end = mine.get(mine->read_output(start.id, 3, 100));
    ASSERT_TRUE(end);
    EXPECT_EQ(end->offset, 3u);
    EXPECT_EQ(end->bytes, "");
    EXPECT_FALSE(end->over);
    mine.get(mine->finish(mark_of(start), ended(run_status::completed)));
    const auto over = mine.get(mine->read_output(start.id, 3, 100));
    ASSERT_TRUE(over);
    EXPECT_TRUE(over->over);
}

// Goal: a run that writes for ever does not fill the disk. Method: two mebibytes with a bound of
// 64 KiB; the last 64 KiB are there, and no more than one chunk beside them.
TYPED_TEST_P(JournalLaws, TheLastOfMuchOutputIsKept) {
    constexpr std::size_t limit = 64 * 1024;
    constexpr std::size_t chunk = 32 * 1024;
    auto mine = this->open();
    const auto start = fresh_run("report", 7);
    mine.begin(start);
    const auto all = some_output(2 * 1024 * 1024);
    for (std::size_t at = 0; at < all.size(); at += chunk)
        EXPECT_TRUE(
            mine.get(mine->append_output(mark_of(start), at, all.substr(at, chunk), limit)));
    const auto kept = mine.output_of(start.id);
    EXPECT_GE(kept.size(), limit);
    EXPECT_LE(kept.size(), limit + output_chunk_bytes_max);
    EXPECT_TRUE(all.ends_with(kept));
    const auto part = mine.get(mine->read_output(start.id, 0, 10));
    ASSERT_TRUE(part);
    EXPECT_EQ(part->offset, all.size() - kept.size());
    EXPECT_EQ(part->size, all.size());
}

TYPED_TEST_P(JournalLaws, WithoutABoundForItNoOutputIsKeptButCounted) {
    auto mine = this->open();
    const auto start = fresh_run("report", 7);
    mine.begin(start);
    EXPECT_TRUE(mine.get(mine->append_output(mark_of(start), 0, "abc", 0)));
    EXPECT_TRUE(mine.get(mine->append_output(mark_of(start), 3, "def", 0)));
    const auto part = mine.get(mine->read_output(start.id, 0, 100));
    ASSERT_TRUE(part);
    EXPECT_EQ(part->bytes, "");
    EXPECT_EQ(part->offset, 6u);
    EXPECT_EQ(part->size, 6u);
}

TYPED_TEST_P(JournalLaws, AChunkThatIsTooLargeIsRejected) {
    auto mine = this->open();
    const auto start = fresh_run("report", 7);
    mine.begin(start);
    const auto largest = some_output(output_chunk_bytes_max);
    EXPECT_TRUE(mine.get(mine->append_output(mark_of(start), 0, largest, 1 << 20)));
    EXPECT_EQ(
        mine.rejection(mine->append_output(mark_of(start), largest.size(), largest + "x", 1 << 20))
            .code,
        errc::rejected);
    EXPECT_EQ(mine.output_of(start.id), largest);
}

// Goal: following misses nothing. Method: a reader that asks for what comes after what it has,
// while a writer adds lines, reads the same bytes, and hears that it is over.
TYPED_TEST_P(JournalLaws, OutputIsFollowedWhileItGrows) {
    auto mine = this->open();
    auto reader = this->open();
    const auto start = fresh_run("report", 7);
    mine.begin(start);
    const auto all = some_output(6000);
    std::jthread writing{[&] {
        for (std::size_t at = 0; at < all.size(); at += 100)
            EXPECT_TRUE(
                mine.get(mine->append_output(mark_of(start), at, all.substr(at, 100), 1 << 20)));
        EXPECT_TRUE(mine.get(mine->finish(mark_of(start), ended(run_status::completed))));
    }};
    std::string read;
    for (bool over = false; !over || read.size() < all.size();) {
        const auto part = reader.get(reader->read_output(start.id, read.size(), 250));
        ASSERT_TRUE(part);
        EXPECT_EQ(part->offset, read.size());
        read += part->bytes;
        over = part->over;
        if (over && part->bytes.empty()) break;
    }
    EXPECT_EQ(read, all);
}

}  // namespace pawl::conformance
