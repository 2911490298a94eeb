#include "base/text.hpp"

#include "base/terminal_text.hpp"
#include "base/utf8.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

namespace pawl::base {
namespace {

using testing::HasSubstr;

TEST(Text, KeysAreUpTo512PrintableBytes) {
    EXPECT_FALSE(key_fault("job/daily report ü"));
    EXPECT_FALSE(key_fault(std::string(512, 'k')));
    EXPECT_THAT(key_fault("").value(), HasSubstr("empty"));
    EXPECT_THAT(key_fault(std::string(513, 'k')).value(), HasSubstr("513 bytes: at most 512"));
    EXPECT_THAT(key_fault("ab\tc").value(), HasSubstr("control character at byte 3"));
    EXPECT_THAT(key_fault(std::string_view{"a\0b", 3}).value(), HasSubstr("byte 2"));
    EXPECT_THAT(key_fault("a\x7f").value(), HasSubstr("byte 2"));
}

TEST(Text, KeysAndOwnersAreUtf8) {
    for (const std::string bad : {"\xff\xfe", "caf\xe9", "a\xe2\xac", "\xc0\xaf", "\xed\xa0\xa0",
                                  "\xe2\x82", "\xed\xa0\x80"}) {
        EXPECT_THAT(key_fault(bad).value(), HasSubstr("is not UTF-8")) << bad;
        EXPECT_TRUE(is_utf8(key_fault(bad).value())) << bad;
        EXPECT_THAT(owner_fault(bad).value(), HasSubstr("is not UTF-8")) << bad;
    }
}

TEST(Text, NamespacesAreShortWords) {
    EXPECT_FALSE(name_space_fault("billing-eu_1.2"));
    for (const auto* bad : {"", "a/b", "a b", "a:b", "ä"})
        EXPECT_TRUE(name_space_fault(bad)) << bad;
    EXPECT_TRUE(name_space_fault(std::string(65, 'n')));
}

// C1 as UTF-8 and as a byte of its own, and what turns the order of a line around.
const std::string taking_over[] = {"\x1b",         "\x7f",        "\xc2\x80",     "\xc2\x9b",
                                   "\xc2\x9f",     "\x9b",        "\xe2\x80\xaa", "\xe2\x80\xae",
                                   "\xe2\x81\xa6", "\xe2\x81\xa9"};

TEST(Text, WhatTakesATerminalOverIsNoPartOfAName) {
    for (const auto& bad : taking_over) {
        EXPECT_THAT(key_fault("caf\xc3\xa9" + bad).value(),
                    HasSubstr(is_utf8(bad) ? "byte 6" : "is not UTF-8"))
            << bad;
        EXPECT_TRUE(owner_fault("a" + bad + "b")) << bad;
        EXPECT_EQ(printable("a" + bad + "b"), "a?b");
    }
    // Their neighbors; and bytes that are no UTF-8 may be printed.
    for (const std::string fine :
         {"\xc2\xa0", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xd7\xa9\xd7\x9c"}) {
        EXPECT_EQ(key_fault(fine), std::nullopt) << fine;
        EXPECT_EQ(printable(fine), fine);
    }
    EXPECT_EQ(printable("\xff\xfe"), "\xff\xfe");
}

// They are allowed in keys, as stores have them, and must not be lost to sight.
TEST(Text, WhatIsSeenAsNothingIsShown) {
    const std::pair<std::string, std::string> cases[]{
        {"\u200b", "<U+200B>"},      {"\u200f", "<U+200F>"},      {"\u2028", "<U+2028>"},
        {"\u2060", "<U+2060>"},      {"\u2065", "<U+2065>"},      {"\ufeff", "<U+FEFF>"},
        {"\u00ad", "<U+00AD>"},      {"\u3164", "<U+3164>"},      {"\ufe0f", "<U+FE0F>"},
        {"\u061c", "<U+061C>"},      {"\U000e0041", "<U+E0041>"}, {"\U000e01ef", "<U+E01EF>"},
        {"\U000e007f", "<U+E007F>"}, {"\U0001d173", "<U+1D173>"},
    };
    for (const auto& [character, seen] : cases) {
        EXPECT_EQ(printable("job/a" + character + "b"), "job/a" + seen + "b");
        EXPECT_EQ(find_invisible("caf\u00e9" + character), 5U) << seen;
        EXPECT_EQ(key_fault("a" + character), std::nullopt) << seen;
        EXPECT_EQ(find_unprintable(character), std::string_view::npos) << seen;
    }
    for (const std::string fine :
         {"a b", "caf\u00e9", "\u2010\u2030", "\u05e9", "\U0001f40a", "\xff"})
        EXPECT_EQ(find_invisible(fine), std::string_view::npos) << fine;
    // A job may write them.
    visible_text terminal;
    EXPECT_EQ(terminal.show("a\u200cb"), "a\u200cb");
}

// Whatever a job has written, in whatever pieces it comes: all of it is seen, none of it is obeyed.
TEST(Text, OutputIsMadeVisibleForATerminal) {
    const std::string written =
        "\tfull\r\n\x1b[2Jcaf\xc3\xa9 \xc2\x9b"
        "31m\x9b \xe2\x80\xae"
        "txt.exe\x7f\xe2\x82";
    const std::string seen =
        "\tfull^M\n^[[2Jcaf\xc3\xa9 <U+009B>31m<9B> <U+202E>"
        "txt.exe^?\xe2";
    for (std::size_t size = 1; size <= written.size(); ++size) {
        visible_text terminal;
        std::string shown;
        for (std::size_t at = 0; at < written.size(); at += size)
            shown += terminal.show(std::string_view{written}.substr(at, size));
        shown += terminal.finish();
        EXPECT_EQ(shown, seen + "<82>") << size;
    }
}

TEST(Text, PrintableLetsNoControlCharacterThrough) {
    EXPECT_EQ(printable("a\x1b[31mb\n"), "a?[31mb?");
    EXPECT_EQ(printable("grün"), "grün");
}

// Goal: a document stays the same JSON, wherever in it the characters stand that are escaped.
TEST(Text, JsonKeepsWhatIsPlain) {
    for (const std::string plain : {"", "{}", "{\"a\": 1,\n\t\"b\": 2}\n"})
        EXPECT_EQ(escaped_json(plain), plain);
    EXPECT_EQ(escaped_json("{\n\"\u00e9\u202e\": \"\u009b\x7f\"\n}\n"),
              "{\n\"\u00e9\\u202e\": \"\\u009b\\u007f\"\n}\n");
    EXPECT_EQ(escaped_json("\"\u200b\u00e9\""), "\"\\u200b\u00e9\"");
}

TEST(Text, NearestFindsAMisspeltWordAndNoOther) {
    EXPECT_EQ(nearest("tiemout", {"timeout", "namespace"}), "timeout");
    EXPECT_EQ(nearest("namespce", {"timeout", "namespace"}), "namespace");
    EXPECT_EQ(nearest("colour", {"timeout", "namespace"}), std::nullopt);
    EXPECT_EQ(nearest("x", {}), std::nullopt);
    EXPECT_EQ(nearest("ab", {"b", "ab"}), "ab");
    EXPECT_EQ(nearest("kitten", {"sitting"}), std::nullopt);
    EXPECT_EQ(nearest("kitten", {"sittin"}), "sittin");
    EXPECT_EQ(nearest("", {"", "a"}), "");
    EXPECT_EQ(nearest("a", {""}), "");
    EXPECT_EQ(nearest("exce", {"jobs", "exec"}), "exec");
    EXPECT_EQ(nearest("xeec", {"exec"}), "exec");
    EXPECT_EQ(nearest("xece", {"exec"}), std::nullopt);
}

// Goal: what counts as near is Levenshtein's distance. Method: many words of three letters against
// each other, beside the whole matrix of the textbook.
std::size_t textbook(std::string_view from, std::string_view to) {
    std::vector<std::vector<std::size_t>> all(from.size() + 1,
                                              std::vector<std::size_t>(to.size() + 1));
    for (std::size_t i = 0; i <= from.size(); ++i)
        for (std::size_t j = 0; j <= to.size(); ++j)
            all[i][j] = i == 0 || j == 0
                            ? i + j
                            : std::min({all[i - 1][j] + 1, all[i][j - 1] + 1,
                                        all[i - 1][j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1)});
    return all.back().back();
}

TEST(Text, NearestCountsTheMistakesOfTheTextbook) {
    std::vector<std::string> words{"", "a", "abcabcabcabca", "bcabcabcabcab", "abcacabcabbcabb"};
    for (const char a : {'a', 'b', 'c'})
        for (const char b : {'a', 'b', 'c'})
            for (const char c : {'a', 'b', 'c'})
                for (const auto* more : {"", "abcab", "cabcabcab", "bccbaacbcacbb"})
                    words.push_back(std::string{a, b} + more + c);
    for (const auto& word : words)
        for (const auto& candidate : words) {
            const auto most = std::clamp<std::size_t>(word.size() / 3, 1, 4);
            const bool is_swapped =
                word.size() == 3 && candidate.size() == 3 &&
                ((word[0] == candidate[1] && word[1] == candidate[0] && word[2] == candidate[2]) ||
                 (word[0] == candidate[0] && word[1] == candidate[2] && word[2] == candidate[1]));
            EXPECT_EQ(nearest(word, {candidate}).has_value(),
                      textbook(word, candidate) <= most || is_swapped)
                << word << ' ' << candidate;
        }
}

// A user chooses the word, and must not choose how long the answer takes. At 7a8108b the
// first of these took seconds; a thousandth of that is enough.
TEST(Text, NearestTakesNoLongerForALongWord) {
    std::vector<std::string> names;
    for (int i = 0; i < 2'000; ++i)
        names.push_back(std::string(190, 'a') + std::to_string(i * 7919 % 10'000));
    const std::vector<std::string_view> candidates{names.begin(), names.end()};
    for (const auto& word :
         {std::string(15'000, 'a'), std::string(190, 'a') + "b", std::string(195, 'b')}) {
        const auto before = std::clock();
        nearest(word, candidates);
        const auto seconds = double(std::clock() - before) / CLOCKS_PER_SEC;
        EXPECT_LT(seconds, 0.5) << word.size();
    }
}

}  // namespace
}  // namespace pawl::base
