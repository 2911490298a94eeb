#include "base/argument_rule.hpp"

#include "base/digest.hpp"

#include <gtest/gtest.h>

namespace pawl::base {
namespace {

using words = std::vector<std::string>;

// What is not allowed is rejected: an argument may be an option that runs another command.
TEST(ArgumentRule, NoneIsAllowedUnlessTheConfigurationSaysSo) {
    EXPECT_EQ(argument_fault({}, "backup", {}), std::nullopt);
    EXPECT_EQ(argument_fault({}, "backup", {"--checkpoint-action=exec=sh"}),
              "no arguments are allowed for job 'backup' (arguments = false in its configuration)");
    EXPECT_EQ(argument_fault({.any = true}, "backup", {"-x", ""}), std::nullopt);
}

// Each has to match as a whole, so that an allowed one is no cover for another.
TEST(ArgumentRule, EachArgumentMatchesAPatternAsAWhole) {
    const argument_rule rule{.patterns = {"--day=[0-9]*", "full", "/srv/*.csv"}};
    for (const auto& fine : words{"--day=7", "full", "/srv/a/b.csv"})
        EXPECT_EQ(argument_fault(rule, "j", {fine}), std::nullopt) << fine;
    for (const auto& bad : words{"--day=", "--day", "fuller", " full", "", "-full", "/etc/a.csv"})
        EXPECT_TRUE(argument_fault(rule, "j", {"full", bad})) << bad;
    EXPECT_TRUE(argument_fault(rule, "j", {std::string{"full\0x", 6}}));
    EXPECT_EQ(argument_fault(rule, "j", {"full", "\x1b[2J"}),
              "argument '?[2J' is not allowed for job 'j'; expected '--day=[0-9]*' or 'full' or "
              "'/srv/*.csv'");
}

// Goal: a pattern that names a folder holds its arguments in it. A '*' stands for '/' as well.
TEST(ArgumentRule, NoWildcardLeadsOutOfAFolder) {
    const argument_rule rule{
        .patterns = {"/data/*", "--in=*", "up/../[ab]", "/old/[.][.]/x", "/new/?*/x"}};
    for (const auto& fine : words{"/data/a", "/data/a/b..c", "/data/...", "/data/..a/b",
                                  "--in=a..b", "--in=https://h/a", "up/../a"})
        EXPECT_EQ(argument_fault(rule, "j", {fine}), std::nullopt) << fine;
    for (const auto& bad :
         words{"/data/../etc/passwd", "/data/..", "/data/a/../../etc/shadow", "--in=..",
               "--in=../x", "--in=a:../x", "/old/../x", "/new/../x", "up/../c"})
        EXPECT_TRUE(argument_fault(rule, "j", {bad})) << bad;
    EXPECT_EQ(argument_fault({.any = true}, "j", {"../x"}), std::nullopt);
}

// Goal: what is passed behind the first kilobyte is recorded as well, where one kilobyte is kept.
// Method: two sets of arguments that begin alike.
TEST(ArgumentRule, ArgumentsThatAreTooLongToBeShownAreKnownByTheirDigest) {
    const std::string padding(1'010, 'x');
    const auto shown = quoted_words({"--note=" + padding, "--delete-all"});
    EXPECT_LT(shown.size(), 900u);
    const auto head = "(2 of 1029 bytes, sha256 " +
                      sha256_hex("--note=" + padding + std::string{"\0--delete-all\0", 14}) +
                      ") '--note=xxxxx";
    EXPECT_EQ(shown.substr(0, head.size()), head);
    EXPECT_NE(shown, quoted_words({"--note=" + padding, "--delete-one"}));
}

// What is recorded of them can be read back, and takes no terminal over.
TEST(ArgumentRule, ArgumentsAreShownAsAShellWouldTakeThem) {
    EXPECT_EQ(quoted_words({}), "");
    EXPECT_EQ(quoted_words({"--day=7", "", "it's two words", "\x1b[2J"}),
              "'--day=7' '' 'it'\\''s two words' '?[2J'");
}

}  // namespace
}  // namespace pawl::base
