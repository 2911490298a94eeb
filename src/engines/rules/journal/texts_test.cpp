#include "engines/rules/journal/texts.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace pawl::journals {
namespace {

TEST(Texts, ControlCharactersBecomeSpaces) {
    EXPECT_EQ(one_line("a\nb\tc\r\x7f\x1b[0m"), "a b c   [0m");
    EXPECT_EQ(one_line(std::string_view{"a\0b", 3}), "a b");
}

TEST(Texts, BytesThatAreNoUtf8BecomeQuestionMarks) {
    EXPECT_EQ(one_line("\xff\xfe"), "??");
    EXPECT_EQ(one_line("\xc0\xaf"), "??");            // overlong
    EXPECT_EQ(one_line("\xed\xa0\x80"), "???");       // a surrogate
    EXPECT_EQ(one_line("\xf4\x90\x80\x80"), "????");  // above U+10FFFF
    EXPECT_EQ(one_line("\xe2\x82"), "??");            // ends too early
    EXPECT_EQ(one_line("\xe2\x82\xac\xf0\x9f\x94\x92"), "\xe2\x82\xac\xf0\x9f\x94\x92");
}

TEST(Texts, NoCharacterIsCutInTwo) {
    EXPECT_EQ(one_line("ab\xe2\x82\xac", 5), "ab\xe2\x82\xac");
    EXPECT_EQ(one_line("ab\xe2\x82\xac", 4), "ab");
    EXPECT_EQ(one_line(std::string(2000, 'x')).size(), reason_bytes_max);
}

TEST(Texts, AListComesBackAsItWasWhateverIsInIt) {
    const std::vector<std::string> list{"--name", "", std::string{"a\0b:3", 5}, "12:x", "\xff"};
    EXPECT_EQ(unpack(pack(list)), list);
    EXPECT_EQ(unpack(""), std::vector<std::string>{});
    for (const auto* bad : {"x", "3:ab", "3", ":", "-1:a", "99999999999999999999:a"})
        EXPECT_FALSE(unpack(bad)) << bad;
}

TEST(Texts, ACursorComesBackAndNothingElseIsOne) {
    EXPECT_EQ(place_of(cursor_at(42)).value(), 42u);
    EXPECT_EQ(place_of("").value(),
              static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    for (const auto* bad : {"x", "-1", "0", "1 ", " 1", "1;DROP", "99999999999999999999"}) {
        const auto place = place_of(bad);
        ASSERT_TRUE(place.has_error()) << bad;
        EXPECT_EQ(place.error().code, errc::rejected);
    }
}

TEST(Texts, AnEndIsAnEnd) {
    EXPECT_TRUE(fault_of_end(run_status::started));
    EXPECT_TRUE(fault_of(run_status::started));
    for (const auto status : {run_status::completed, run_status::failed, run_status::cancelled,
                              run_status::lost, run_status::timed_out, run_status::abandoned}) {
        EXPECT_FALSE(fault_of_end(status));
        EXPECT_FALSE(fault_of(status));
    }
    EXPECT_FALSE(fault_of_end(run_status::skipped));
    EXPECT_TRUE(fault_of(run_status::skipped));
}

TEST(Texts, WhatIsBeyondABoundIsRejectedInOneLine) {
    EXPECT_FALSE(fault_of_checkpoint(std::string(checkpoint_bytes_max, 'x')));
    EXPECT_TRUE(fault_of_checkpoint(std::string(checkpoint_bytes_max + 1, 'x')));
    EXPECT_FALSE(fault_of_chunk(0, std::string(output_chunk_bytes_max, 'x')));
    EXPECT_TRUE(fault_of_chunk(0, std::string(output_chunk_bytes_max + 1, 'x')));
    EXPECT_TRUE(fault_of_chunk(output_bytes_max + 1, "x"));
    run_trigger what;
    what.id = "id";
    what.job = "job";
    what.arguments.assign(3, std::string(argument_bytes_max / 3 - 2, 'x'));
    EXPECT_FALSE(fault_of(what));
    what.arguments.emplace_back("12345678");
    const auto fault = fault_of(what);
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->code, errc::rejected);
    EXPECT_NE(fault->detail.find("65536"), std::string::npos) << fault->detail;
}

}  // namespace
}  // namespace pawl::journals
