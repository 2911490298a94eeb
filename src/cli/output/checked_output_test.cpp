#include "cli/output/checked_output.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <ostream>
#include <streambuf>
#include <string>

namespace pawl::cli {
namespace {

// A file that takes no more once it has `room` bytes, and says why.
class full_file : public std::streambuf {
public:
    full_file(std::size_t room, int why) : room_{room}, why_{why} {}
    std::string got;

protected:
    int_type overflow(int_type letter) override {
        const char one = traits_type::to_char_type(letter);
        return xsputn(&one, 1) == 1 ? letter : traits_type::eof();
    }
    std::streamsize xsputn(const char* text, std::streamsize size) override {
        const auto taken = std::min(room_ - got.size(), static_cast<std::size_t>(size));
        got.append(text, taken);
        errno = taken == static_cast<std::size_t>(size) ? 0 : why_;
        return static_cast<std::streamsize>(taken);
    }

private:
    std::size_t room_;
    int why_;
};

// The status after a command that printed ten letters and ended with `code`.
int end_with(full_file& file, int code, std::string& said) {
    std::ostream stream{&file};
    testing::internal::CaptureStderr();
    checked_output printed{stream};
    stream << "0123456789";
    errno = 0;
    stream << "not taken either";
    const int ended = printed.end(code);
    said = testing::internal::GetCapturedStderr();
    return ended;
}

// Goal: output that was lost is a failure with its cause, whatever happens afterwards.
TEST(CheckedOutput, AFullDiskIsStatus74AndOneLine) {
    full_file file{4, ENOSPC};
    std::string said;
    EXPECT_EQ(end_with(file, 0, said), 74);
    EXPECT_EQ(file.got, "0123");
    EXPECT_EQ(said,
              "pawl: cannot write to standard output: No space left on device; what was to be "
              "printed is lost or cut off\n");
}

TEST(CheckedOutput, AReaderThatWentAwayIsNoFailure) {
    full_file file{4, EPIPE};
    std::string said;
    EXPECT_EQ(end_with(file, 0, said), 0);
    EXPECT_EQ(said, "");
}

TEST(CheckedOutput, ACommandThatFailedKeepsItsStatus) {
    full_file file{4, ENOSPC};
    std::string said;
    EXPECT_EQ(end_with(file, 1, said), 1);
    EXPECT_NE(said.find("No space left"), std::string::npos);
}

// `runs output` ends a stream that it cannot write any more.
TEST(CheckedOutput, WhoNoticedItIsNotRepeated) {
    full_file file{4, ENOSPC};
    std::string said;
    EXPECT_EQ(end_with(file, 74, said), 74);
    EXPECT_EQ(said, "");
}

TEST(CheckedOutput, WhatArrivedIsLeftAlone) {
    full_file file{100, ENOSPC};
    std::string said;
    EXPECT_EQ(end_with(file, 0, said), 0);
    EXPECT_EQ(file.got, "0123456789not taken either");
    EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace pawl::cli
