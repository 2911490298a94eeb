#include "cli/output.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl::cli {
namespace {

TEST(Output, ColumnsAreAsWideAsTheirWidestCellAndNothingTrails) {
    testing::internal::CaptureStdout();
    print_table({{"KEY", "OWNER", "LEFT"}, {"a", "somewhere:1", "2s"}, {"longest", "b", "-"}});
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              "KEY      OWNER        LEFT\n"
              "a        somewhere:1  2s\n"
              "longest  b            -\n");
}

// A reader of lines gets one document in one.
TEST(Output, ADocumentIsOneLine) {
    testing::internal::CaptureStdout();
    print_json({{"text", "two\nlines"}, {"number", 1}});
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "{\"text\":\"two\\nlines\",\"number\":1}\n");
}

}  // namespace
}  // namespace pawl::cli
