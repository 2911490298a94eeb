// Pages of records: in byte order, by prefix, and complete while everything changes.
#pragma once

#include "test_support/conformance/store_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace pawl::conformance {

inline std::vector<std::string> keys_of(const std::vector<record>& records) {
    std::vector<std::string> keys;
    for (const auto& each : records) keys.push_back(each.key);
    return keys;
}

// Goal: what one page leaves off, the next one has. Method: the same records through pages of every
// size, in the order of their bytes.
TYPED_TEST_P(StoreLaws, PagesAreSortedByBytesAndCompleteAtEverySize) {
    auto mine = this->open();
    std::vector<std::string> keys{"B", "a", "a/1", "a/10", "a/2", "b", "ä", "z", "Z", "~", "日"};
    for (const auto& key : keys) mine.granted(fresh_claim(key));
    std::sort(keys.begin(), keys.end());
    for (const std::size_t limit : {1u, 2u, 3u, 10u, 11u, 12u, 1000u})
        EXPECT_EQ(keys_of(mine.all("", limit)), keys) << limit;
}

TYPED_TEST_P(StoreLaws, AnEmptyStoreIsOneEmptyPage) {
    auto mine = this->open();
    const auto none = mine.list("", "", 10);
    ASSERT_TRUE(none.has_value());
    EXPECT_TRUE(none->records.empty());
    EXPECT_TRUE(none->next.empty());
}

// Goal: a prefix is bytes, not a pattern. Method: prefixes that mean something to SQL, to globs and
// to scripts, beside keys that they would match as patterns.
TYPED_TEST_P(StoreLaws, APrefixIsTakenLiterally) {
    auto mine = this->open();
    const std::vector<std::string> keys{"%",  "%1", "1",   "[ab]", "a",  "a*", "a*b",  "a?",
                                        "a_", "ab", "abc", "a\\",  "a'", "b",  "\xff", "\xff\xff"};
    for (const auto& key : keys) mine.granted(fresh_claim(key));
    for (const std::string prefix :
         {"%", "a", "a*", "a?", "a_", "a\\", "a'", "[ab]", "abc", "abcd", "\xff", "\xff\xff"}) {
        std::vector<std::string> expected;
        std::copy_if(keys.begin(), keys.end(), std::back_inserter(expected),
                     [&](const std::string& key) { return key.starts_with(prefix); });
        std::sort(expected.begin(), expected.end());
        EXPECT_EQ(keys_of(mine.all(prefix, 2)), expected) << prefix;
    }
}

TYPED_TEST_P(StoreLaws, APageStartsAfterAKeyThatNeedNotExist) {
    auto mine = this->open();
    for (const auto* key : {"a", "c", "p/1", "p/3", "q"}) mine.granted(fresh_claim(key));
    const auto after_b = mine.list("", "b", 2);
    ASSERT_TRUE(after_b.has_value());
    EXPECT_EQ(keys_of(after_b->records), (std::vector<std::string>{"c", "p/1"}));
    const auto inside = mine.list("p/", "p/2", 10);
    ASSERT_TRUE(inside.has_value());
    EXPECT_EQ(keys_of(inside->records), (std::vector<std::string>{"p/3"}));
    const auto from_before = mine.list("p/", "a", 10);
    ASSERT_TRUE(from_before.has_value());
    EXPECT_EQ(from_before->records.size(), 2u);
    const auto from_behind = mine.list("p/", "q", 10);
    ASSERT_TRUE(from_behind.has_value());
    EXPECT_TRUE(from_behind->records.empty());
}

// Goal: one question about many keys says what inspect() says of each. Method: keys that are held,
// free, done for an occurrence, given up and unknown, in no order, with bytes that mean something
// to servers, and one of them twice.
TYPED_TEST_P(StoreLaws, ManyKeysAreShownAsInspectShowsEach) {
    auto mine = this->open();
    auto other = this->open();
    mine.granted(fresh_claim("z/held", 30s, "host:1"));
    EXPECT_TRUE(yes(mine.release("a'b", mine.granted(fresh_claim("a'b")))));
    auto once = fresh_claim("%done", 30s, "host:2");
    once.occurrence = occurrence{1'000};
    mine.granted(once);
    const auto given_up = fresh_claim("given up");
    mine.granted(given_up);
    EXPECT_TRUE(yes(mine.withdraw({given_up.key, given_up.id})));
    const std::vector<std::string> keys{"z/held",   "unknown", "a'b", "%done",
                                        "given up", "z/held",  "a\\b"};
    const auto seen = other.inspect_many(keys);
    ASSERT_TRUE(seen.has_value());
    ASSERT_EQ(seen->size(), keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto& many = (*seen)[i];
        const auto one = other.inspect(keys[i]);
        ASSERT_TRUE(one.has_value()) << keys[i];
        ASSERT_EQ(many.has_value(), one->has_value()) << keys[i];
        if (!many) continue;
        EXPECT_EQ(many->key, keys[i]);
        EXPECT_EQ(many->owner, (*one)->owner) << keys[i];
        EXPECT_EQ(many->holder, (*one)->holder) << keys[i];
        EXPECT_EQ(many->acquired_at, (*one)->acquired_at) << keys[i];
        EXPECT_EQ(many->last_done, (*one)->last_done) << keys[i];
        EXPECT_EQ(many->last_token, (*one)->last_token) << keys[i];
        // Of several nodes, whose leases end one after another, other ones may answer each time.
        EXPECT_GE(many->remaining + 20s, (*one)->remaining) << keys[i];
        EXPECT_LE(many->remaining, (*one)->remaining + 20s) << keys[i];
    }
    EXPECT_EQ((*seen)[3]->last_done, occurrence{1'000});
    EXPECT_FALSE((*seen)[1]);
}

TYPED_TEST_P(StoreLaws, AsManyKeysAsAPageHoldsAreShownAtOnce) {
    auto mine = this->open();
    EXPECT_TRUE(mine.inspect_many({}).value().empty());
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < page_limit_max; ++i) keys.push_back("key/" + std::to_string(i));
    for (const auto which : {0u, 24u, 25u, 500u, 999u}) mine.granted(fresh_claim(keys[which]));
    const auto seen = mine.inspect_many(keys);
    ASSERT_TRUE(seen.has_value()) << seen.error().detail;
    ASSERT_EQ(seen->size(), keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const bool is_known = i == 0 || i == 24 || i == 25 || i == 500 || i == 999;
        EXPECT_EQ((*seen)[i].has_value(), is_known) << i;
        if (!is_known || !(*seen)[i]) continue;
        EXPECT_EQ((*seen)[i]->key, keys[i]);
    }
}

TYPED_TEST_P(StoreLaws, APageShowsEachRecordAsInspectDoes) {
    auto mine = this->open();
    const auto held_token = mine.granted(fresh_claim("held", 30s, "host:1"));
    const auto free_token = mine.granted(fresh_claim("free"));
    EXPECT_TRUE(yes(mine.release("free", free_token)));
    const auto found = mine.all("", 10);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(number(found[0].holder), 0u);
    EXPECT_EQ(found[0].remaining, 0ms);
    EXPECT_EQ(found[0].last_token, free_token);
    EXPECT_EQ(found[1].holder, held_token);
    EXPECT_EQ(found[1].owner, "host:1");
    EXPECT_GT(found[1].remaining, 20s);
    EXPECT_EQ(found[1].acquired_at, mine.show("held").acquired_at);
}

// Goal: a record that exists throughout is on exactly one page. Method: another client makes,
// renews and releases records between and among them while small pages are read.
TYPED_TEST_P(StoreLaws, PagesAreCompleteWhileRecordsChange) {
    auto mine = this->open();
    auto other = this->open();
    std::vector<std::string> keys;
    for (int i = 0; i < 60; ++i) keys.push_back("key/" + std::to_string(1000 + i * 10));
    for (const auto& key : keys) mine.granted(fresh_claim(key));
    std::atomic<bool> enough{false};
    std::jthread changes{[&] {
        for (int i = 0; !enough; ++i) {
            const auto between = "key/" + std::to_string(1001 + i * 37 % 600);
            const auto token = other.acquire(fresh_claim(between));
            const auto* won = token.has_value() ? std::get_if<grant>(&*token) : nullptr;
            if (won != nullptr) yes(other.release(between, won->token));
            const auto& among = keys[static_cast<std::size_t>(i) % keys.size()];
            EXPECT_TRUE(other.force_release(among, other.show(among).holder, 0ms).has_value());
            EXPECT_TRUE(other.acquire(fresh_claim(among)).has_value());
        }
    }};
    for (int round = 0; round < 10; ++round) {
        std::map<std::string, int> times;
        const auto found = keys_of(mine.all("key/", 7));
        for (const auto& key : found) ++times[key];
        EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
        for (const auto& key : keys) EXPECT_EQ(times[key], 1) << key;
    }
    enough = true;
}

}  // namespace pawl::conformance
