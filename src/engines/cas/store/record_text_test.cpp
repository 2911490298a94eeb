#include "engines/cas/store/record_text.hpp"

#include "test_support/conformance/expectations.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <tuple>
#include <utility>

namespace pawl::cas {
namespace {

using namespace std::chrono_literals;
using conformance::expect_failure;

lease_record held_record() {
    rules::lease_record state{.holder = fence_token{77},
                              .claim_id = "9f0c41",
                              .owner = "host:1",
                              .acquired = 5s,
                              .acquired_wall = 4s,
                              .until = 35s,
                              .last_token = fence_token{78}};
    return {.state = std::move(state), .term = 30s, .used = 6s, .nonce = "a1.0"};
}

auto all_of(const lease_record& record) {
    const auto& state = record.state;
    return std::tuple{state.holder,   state.last_token,    state.claim_id, state.owner,
                      state.acquired, state.acquired_wall, state.until,    state.last_done,
                      record.term,    record.used,         record.nonce};
}

auto all_of(const fence_record& record) { return std::tuple{record.newest, record.nonce}; }
auto all_of(const marker_record& record) {
    return std::tuple{record.born, record.floor, record.identity, record.rounds, record.nonce};
}

template <class Record>
void expect_reads(result<Record> (*parse)(std::string_view), const Record& written) {
    const auto text = encode(written);
    for (const auto letter : text) EXPECT_TRUE(letter >= ' ' && letter <= '~') << text;
    const auto read = parse(text);
    ASSERT_TRUE(read.has_value()) << text;
    EXPECT_EQ(all_of(*read), all_of(written)) << text;
}

TEST(CasRecord, ALeaseIsOneLineThatPeopleCanRead) {
    EXPECT_EQ(encode(held_record()),
              "1 lease nonce=a1.0 holder=77 last=78 until=35000000 term=30000 acquired=5000000 "
              "wall=4000000 used=6000000 done=- id=9f0c41 owner=host:1");
}

// Goal: what was written is read, whatever owners, ids and occurrences may be. Method: the odd
// ones.
TEST(CasRecord, ALeaseIsReadAsItWasWritten) {
    for (const std::string words :
         {"", "-", "--", " ", "%", "a b", "host:1", "täglich", "\xff\xfe\n", "x=y owner=z"})
        for (const std::optional<occurrence> done :
             {std::optional<occurrence>{}, std::optional{occurrence{-1}},
              std::optional{occurrence{0}}, std::optional{occurrence_max},
              std::optional{occurrence{std::numeric_limits<std::int64_t>::min()}}}) {
            auto written = held_record();
            written.state.owner = written.state.claim_id = words;
            written.state.last_done = done;
            expect_reads(parse_lease, written);
        }
    expect_reads(parse_lease, {.nonce = "0"});
}

TEST(CasRecord, AFenceAndAMarkerAreReadAsTheyWereWritten) {
    const fence_record fence{fence_token{9}, "b2.1"};
    EXPECT_EQ(encode(fence), "1 fence nonce=b2.1 newest=9");
    expect_reads(parse_fence, fence);
    const marker_record marker{5s, fence_token{8}, "table 1%", 3, "c3.0"};
    EXPECT_EQ(encode(marker),
              "1 marker nonce=c3.0 born=5000000 floor=8 race=3 identity=table%201%25");
    expect_reads(parse_marker, marker);
}

// Goal: one altered byte is never taken for another record. Method: each byte of a record is
// dropped, doubled and replaced; what is still read must be written exactly so.
TEST(CasRecord, WhatIsGarbledIsRejectedOrReadAsItStands) {
    const auto good = encode(held_record());
    const auto check = [](const std::string& text) {
        const auto read = parse_lease(text);
        EXPECT_TRUE(read.has_error() || encode(*read) == text) << text;
    };
    for (std::size_t i = 0; i < good.size(); ++i) {
        check(good.substr(0, i));
        check(good.substr(0, i) + good.substr(i + 1));
        check(good.substr(0, i) + good[i] + good.substr(i));
        for (const char letter : {' ', '-', '0', '9', '=', '%', '\n', '\0'})
            check(good.substr(0, i) + letter + good.substr(i + 1));
    }
}

TEST(CasRecord, WhatNoPawlHasWrittenIsRejected) {
    const auto good = encode(held_record());
    const auto with = [&](const std::string& old, const std::string& wrong) {
        auto text = good;
        return text.replace(text.find(old), old.size(), wrong);
    };
    for (const auto& text :
         {std::string{}, std::string{"1"}, std::string{"{\"holder\":\"x\"}"}, good + " ",
          good + " more=1", " " + good, good + "\n", with("1 lease", "01 lease"),
          with("1 lease", "1 fence"), with("holder=77", "holder=077"),
          // A holder above the last token, and an id without a holder.
          with("holder=77", "holder=79"), with("holder=77", "holder=0"),
          // Sums that would overflow, and tokens at which the next is 0.
          with("last=78", "last=18446744073709551615"), with("last=78", "last=9007199254740992"),
          with("until=35000000", "until=9223372036854775807"), with("term=30000", "term=-1"),
          with("nonce=a1.0", "nonce="), with("nonce=a1.0", "nonce=" + std::string(65, 'a')),
          with("owner=host:1", "owner=host%3a1"), with("owner=host:1", "owner=%")}) {
        SCOPED_TRACE(text);
        expect_failure(parse_lease(text), errc::rejected, "another program");
    }
    EXPECT_TRUE(parse_fence("1 fence nonce=a newest=-1").has_error());
    EXPECT_TRUE(parse_marker("1 marker nonce=a born=5 floor=8 race=3").has_error());
}

TEST(CasRecord, ARecordOfANewerPawlSaysSo) {
    for (const auto* text : {"2 lease anything", "2", "30 marker x"})
        expect_failure(parse_lease(text), errc::unsupported, "newer pawl");
}

TEST(CasRecord, TheNonceIsFoundInAnyRecord) {
    EXPECT_EQ(nonce_of(encode(held_record())), "a1.0");
    EXPECT_EQ(nonce_of(encode(fence_record{fence_token{1}, "b"})), "b");
    EXPECT_EQ(nonce_of("1 fence nonce=x"), "x");
    EXPECT_EQ(nonce_of(""), "");
    EXPECT_EQ(nonce_of("something else"), "");
}

}  // namespace
}  // namespace pawl::cas
