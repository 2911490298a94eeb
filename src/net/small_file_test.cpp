#include "net/small_file.hpp"

#include "test_support/folder.hpp"

#include <gtest/gtest.h>

namespace pawl::net {
namespace {

TEST(SmallFile, IsReadWholeOrNotAtAll) {
    const testing_files::test_folder folder;
    loop where;
    const auto read = [&](const std::string& path) {
        return where.wait_for(read_small_file(where, path));
    };
    EXPECT_EQ(read(folder.write("secret", "two\nlines\n")), "two\nlines\n");
    EXPECT_EQ(read(folder.write("empty", "")), "");
    EXPECT_EQ(read(folder / "none"), std::nullopt);
    EXPECT_EQ(read(""), std::nullopt);
    EXPECT_EQ(read(folder.write("large", std::string(2'000'000, 'x')))->size(), 1U << 20);
}

TEST(SmallFile, TheEndOfItsLastLineIsNoPartOfASecret) {
    EXPECT_EQ(without_line_ends("secret\r\n\n"), "secret");
    EXPECT_EQ(without_line_ends(" two words \t"), " two words");
    EXPECT_EQ(without_line_ends("\n"), "");
}

}  // namespace
}  // namespace pawl::net
