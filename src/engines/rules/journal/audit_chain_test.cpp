#include "engines/rules/journal/audit_chain.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

namespace pawl::journals {
namespace {

std::vector<audit_entry> chain_of(int count) {
    std::vector<audit_entry> entries;
    for (int i = 0; i < count; ++i) {
        audit_draft what;
        what.actor = "ada";
        what.action = "job.pause";
        what.target = "report";
        what.detail = "because " + std::to_string(i);
        const auto before = entries.empty() ? std::string{} : entries.back().hash;
        entries.push_back(next_entry(entries.size(), before, what, 1'700'000'000'000 + i));
    }
    return entries;
}

// Goal: others can compute the same. Method: the hash that `sha256sum` gives for
// 1:113:17000000000003:ada9:job.pause6:report9:because 064:000… (64 zeros).
TEST(AuditChain, TheHashIsThatOfItsFieldsWithTheirLengths) {
    const auto first = chain_of(1).front();
    EXPECT_EQ(first.sequence, 1u);
    EXPECT_EQ(first.previous, std::string(64, '0'));
    EXPECT_EQ(first.hash, "cb7c1d242622dff92e63787c0893dc48b1d068052a5d87bb988a079e488b6755");
}

TEST(AuditChain, AWholeChainHasNoFault) {
    const auto entries = chain_of(5);
    EXPECT_FALSE(first_broken(entries));
    EXPECT_FALSE(first_broken(std::span{entries}.subspan(2)));
    EXPECT_FALSE(first_broken({}));
}

// Goal: nothing can be changed unnoticed. Method: each field of the third entry, changed alone.
TEST(AuditChain, AChangeOfAnyFieldIsFound) {
    const std::vector<std::function<void(audit_entry&)>> changes{
        [](audit_entry& entry) { entry.at += 1; },
        [](audit_entry& entry) { entry.actor = "bob"; },
        [](audit_entry& entry) { entry.action += "x"; },
        [](audit_entry& entry) { entry.target.clear(); },
        [](audit_entry& entry) { std::swap(entry.target, entry.detail); },
        [](audit_entry& entry) { entry.detail += "!"; },
        [](audit_entry& entry) { entry.previous[0] = 'x'; },
        [](audit_entry& entry) { entry.hash[0] = entry.hash[0] == 'a' ? 'b' : 'a'; }};
    for (const auto& change : changes) {
        auto entries = chain_of(5);
        change(entries[2]);
        EXPECT_EQ(first_broken(entries), 3u);
    }
}

TEST(AuditChain, AMovedOrMissingEntryIsFoundThoughTheRestIsWhole) {
    auto missing = chain_of(5);
    missing.erase(missing.begin() + 1);
    EXPECT_EQ(first_broken(missing), 3u);
    auto moved = chain_of(5);
    std::swap(moved[1], moved[2]);
    EXPECT_EQ(first_broken(moved), 3u);
    // One that was changed, and given the right hash again, breaks the next.
    auto forged = chain_of(5);
    forged[1].actor = "bob";
    forged[1].hash = hash_of(forged[1]);
    EXPECT_EQ(first_broken(forged), 3u);
    auto beheaded = chain_of(5);
    beheaded.erase(beheaded.begin());
    beheaded[0].sequence = 1;
    beheaded[0].hash = hash_of(beheaded[0]);
    EXPECT_EQ(first_broken(beheaded), 1u);
}

TEST(AuditChain, FieldsThatRunTogetherAreToldApart) {
    audit_entry one;
    one.actor = "ab";
    one.action = "c";
    audit_entry other;
    other.actor = "a";
    other.action = "bc";
    EXPECT_NE(hash_of(one), hash_of(other));
}

// Feeds a chain to a walk by pages, the newest first, as a journal hands it out.
chain_walk walked(const std::vector<audit_entry>& entries, std::size_t page_size,
                  const std::string& head = {}) {
    const std::vector<audit_entry> newest_first{entries.rbegin(), entries.rend()};
    chain_walk walk{head};
    for (std::size_t from = 0; !walk.is_finished(); from += page_size) {
        const auto begin = std::min(from, newest_first.size());
        const auto many = std::min(page_size, newest_first.size() - begin);
        walk.take(std::span{newest_first}.subspan(begin, many));
    }
    return walk;
}

TEST(AuditChain, AWalkByPagesOfAnySizeVerifiesAWholeChain) {
    for (const std::size_t page_size : {1, 2, 5, 7}) {
        const auto walk = walked(chain_of(5), page_size);
        EXPECT_FALSE(walk.broken());
        EXPECT_EQ(walk.verified(), 5u);
    }
    EXPECT_EQ(walked({}, 3).verified(), 0u);
    EXPECT_FALSE(walked({}, 3).broken());
}

// Goal: it finds what first_broken finds, wherever the pages end. Method: one entry changed, taken
// out, or the first ones cut off.
TEST(AuditChain, AWalkFindsWhatWasChangedOrTakenOut) {
    for (const std::size_t page_size : {1, 2, 3, 10}) {
        auto changed = chain_of(5);
        changed[2].detail += "!";
        ASSERT_TRUE(walked(changed, page_size).broken());
        EXPECT_EQ(walked(changed, page_size).broken()->sequence, 3u);
        EXPECT_EQ(walked(changed, page_size).verified(), 2u);

        auto rewritten = chain_of(5);
        rewritten[2].detail += "!";
        rewritten[2].hash = hash_of(rewritten[2]);
        ASSERT_TRUE(walked(rewritten, page_size).broken());
        EXPECT_EQ(walked(rewritten, page_size).broken()->sequence, 3u);

        auto missing = chain_of(5);
        missing.erase(missing.begin() + 2);
        ASSERT_TRUE(walked(missing, page_size).broken());
        EXPECT_EQ(walked(missing, page_size).broken()->sequence, 2u);

        auto cut_off = chain_of(5);
        cut_off.erase(cut_off.begin(), cut_off.begin() + 2);
        ASSERT_TRUE(walked(cut_off, page_size).broken());
        EXPECT_EQ(walked(cut_off, page_size).broken()->what, "entries before 3 are missing");
    }
}

// Goal: entries cut off at the newer end, which leave a chain that holds, are found by a hash that
// was noted before. At 7a8108b nothing found them.
TEST(AuditChain, AWalkFindsWhatWasCutOffByTheHashThatWasNoted) {
    const auto whole = chain_of(5);
    for (const std::size_t page_size : {1, 2, 5, 7}) {
        for (const auto& entry : whole) EXPECT_FALSE(walked(whole, page_size, entry.hash).broken());
        auto cut_off = whole;
        cut_off.resize(3);
        EXPECT_FALSE(walked(cut_off, page_size).broken()) << "it holds by itself";
        ASSERT_TRUE(walked(cut_off, page_size, whole[4].hash).broken());
        EXPECT_EQ(walked(cut_off, page_size, whole[4].hash).broken()->sequence, 4u);
        EXPECT_EQ(walked(cut_off, page_size, whole[4].hash).verified(), 3u);
        EXPECT_FALSE(walked(cut_off, page_size, whole[2].hash).broken());
        ASSERT_TRUE(walked({}, page_size, whole[4].hash).broken());
        EXPECT_EQ(walked({}, page_size, whole[4].hash).broken()->sequence, 1u);
    }
}

TEST(AuditChain, AHashHas64Digits) {
    EXPECT_TRUE(is_hash(chain_of(1)[0].hash));
    for (const auto& bad : {std::string{}, std::string(63, 'a'), std::string(65, 'a'),
                            std::string(64, 'g'), std::string(64, 'A')})
        EXPECT_FALSE(is_hash(bad)) << bad;
}

}  // namespace
}  // namespace pawl::journals
