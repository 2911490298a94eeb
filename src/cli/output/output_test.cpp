#include "cli/output/output.hpp"

#include <boost/json.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

namespace pawl::cli {
namespace {

TEST(Output, ColumnsAreAsWideAsTheirWidestCellAndNothingTrails) {
    testing::internal::CaptureStdout();
    print_table({{"KEY", "OWNER", "EXPIRES"}, {"a", "somewhere:1", "2s"}, {"longest", "–", "–"}});
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              "KEY      OWNER        EXPIRES\n"
              "a        somewhere:1  2s\n"
              "longest  –            –\n");
}

// Goal: nothing that others wrote takes a terminal over. Method: as `runs ls` showed an id once.
TEST(Output, NoCellOfATableTakesTheTerminalOver) {
    testing::internal::CaptureStdout();
    print_table({{"ID"}, {"run-\x1b]0;mine\x07\x1b[2J"}});
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "ID\nrun-?]0;mine??[2J\n");
}

// The same for a document, which says the same when it is read again: U+009B, U+202E, and U+E0041,
// which is invisible.
TEST(Output, NoTextOfADocumentTakesTheTerminalOver) {
    const std::string text = "a\u009b2J\u202eb\U000e0041 \u00e9";
    testing::internal::CaptureStdout();
    print_json({{"text", text}});
    const auto printed = testing::internal::GetCapturedStdout();
    EXPECT_EQ(printed, "{\"text\":\"a\\u009b2J\\u202eb\\udb40\\udc41 \u00e9\"}\n");
    EXPECT_EQ(boost::json::parse(printed).at("text").as_string(), text);
}

TEST(Output, TimesForPeopleAreLocalWithTheirOffset) {
    setenv("TZ", "Asia/Kolkata", 1);
    tzset();
    EXPECT_EQ(local_time(1'763'603'999'250), "2025-11-20T07:29:59+05:30");
    EXPECT_EQ(local_time(std::string_view{"2025-11-20T01:59:59.250Z"}),
              "2025-11-20T07:29:59+05:30");
    EXPECT_EQ(local_time(std::string_view{"never"}), "never");
    setenv("TZ", "UTC", 1);
    tzset();
    EXPECT_EQ(local_time(1'763'603'999'250), "2025-11-20T01:59:59Z");
    unsetenv("TZ");
    tzset();
}

TEST(Output, AStartedRunIsRunningForPeople) {
    EXPECT_EQ(word_of(run_status::started), "running");
    EXPECT_EQ(word_of(run_status::timed_out), "timed_out");
}

// A reader of lines gets one document in one.
TEST(Output, ADocumentIsOneLine) {
    testing::internal::CaptureStdout();
    print_json({{"text", "two\nlines"}, {"number", 1}});
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "{\"text\":\"two\\nlines\",\"number\":1}\n");
}

}  // namespace
}  // namespace pawl::cli
