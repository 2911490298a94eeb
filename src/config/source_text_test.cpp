#include "config/source_text.hpp"

#include "config/size.hpp"

#include <gtest/gtest.h>

namespace pawl::config {
namespace {

std::string shown(place at) { return std::to_string(at.line) + ":" + std::to_string(at.column); }

// Where a byte of a value stands, when the literal begins after "k = ".
std::string inside(std::string_view literal, std::size_t offset) {
    const auto text = "first\nk = " + std::string{literal} + "\n";
    return shown(source_text{text}.inside({2, 5}, offset));
}

TEST(SourceText, FindsAByteOfAStringAsItIsWritten) {
    EXPECT_EQ(inside("\"abc\"", 0), "2:6");
    EXPECT_EQ(inside("\"abc\"", 2), "2:8");
    EXPECT_EQ(inside("\"abc\"", 3), "2:9");
    EXPECT_EQ(inside("'a\\bc'", 2), "2:8");
    EXPECT_EQ(inside("\"a\\tb\"", 2), "2:9");
    EXPECT_EQ(inside("\"\\u00e9b\"", 2), "2:12");
    EXPECT_EQ(inside("\"\\U0001F600b\"", 4), "2:16");
    EXPECT_EQ(inside("\"éb\"", 2), "2:7");
    EXPECT_EQ(inside("'''\nab\ncd'''", 0), "3:1");
    EXPECT_EQ(inside("'''\nab\ncd'''", 4), "4:2");
    EXPECT_EQ(inside("\"\"\"ab \\\n   cd\"\"\"", 4), "3:5");
    EXPECT_EQ(inside("\"\"\"\r\nab\"\"\"", 1), "3:2");
}

TEST(SourceText, WhatIsNoStringStandsWhereItBegins) {
    EXPECT_EQ(inside("123", 2), "2:5");
    EXPECT_EQ(shown(source_text{""}.inside({7, 1}, 3)), "7:1");
    EXPECT_EQ(shown(source_text{"a"}.inside({0, 0}, 3)), "0:0");
}

TEST(SourceText, BracketsAndDotsInStringsAndCommentsDoNotNest) {
    const std::string dots(100, '.'), brackets(100, '[');
    EXPECT_FALSE(nesting_fault("a = \"" + dots + brackets + "\"\n"));
    EXPECT_FALSE(nesting_fault("a = '" + dots + brackets + "'\n"));
    EXPECT_FALSE(nesting_fault("# " + dots + brackets));
    EXPECT_FALSE(nesting_fault("a = '''\n'" + brackets + "\n" + dots + "''''\n"));
    EXPECT_FALSE(nesting_fault("a = \"\\\"" + dots + "\"\n"));
    EXPECT_FALSE(nesting_fault("a = [" + std::string(1000, '1') + "]\n"));
    std::string many;
    for (int i = 0; i < 100; ++i) many += "[[a.b]]\nc.d = [1.5, 2.5]\n";
    EXPECT_FALSE(nesting_fault(many));
    EXPECT_TRUE(nesting_fault("a = \"x\" # y\nb = " + brackets));
    EXPECT_TRUE(nesting_fault("a = ''''x'''''\nb" + dots));
}

TEST(Size, ReadsBytesWithAndWithoutUnit) {
    EXPECT_EQ(parse_size("0").value(), 0);
    EXPECT_EQ(parse_size("512").value(), 512);
    EXPECT_EQ(parse_size("64KiB").value(), 65536);
    EXPECT_EQ(parse_size("1MiB").value(), 1 << 20);
    EXPECT_EQ(parse_size("2GB").value(), 2'000'000'000);
    EXPECT_EQ(parse_size("1kB").value(), 1000);
    EXPECT_EQ(parse_size("3B").value(), 3);
}

TEST(Size, RejectsWithTheColumn) {
    for (const std::string text :
         {"", "MiB", "-1", "+1", " 1", "9223372036854775808", "1048577TiB"})
        EXPECT_EQ(parse_size(text).error().column, 0u) << text;
    for (const std::string text : {"1mib", "1 MiB", "1.5MiB", "1M"})
        EXPECT_EQ(parse_size(text).error().column, 1u) << text;
}

TEST(Size, PrintsWhatReadsBackTheSame) {
    EXPECT_EQ(format_size(0), "0");
    EXPECT_EQ(format_size(1 << 20), "1MiB");
    for (const std::int64_t bytes : {0LL, 1LL, 1000LL, 1024LL, 1536LL, 1LL << 40, (1LL << 40) + 1})
        EXPECT_EQ(parse_size(format_size(bytes)).value(), bytes);
}

}  // namespace
}  // namespace pawl::config
