#include "journals/rules/audit_chain.hpp"

#include <gtest/gtest.h>

#include <functional>
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

}  // namespace
}  // namespace pawl::journals
